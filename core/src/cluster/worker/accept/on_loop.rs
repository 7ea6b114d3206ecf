//! Accepting on the event loop itself: nothing is accepted or read while a poll is long.

use super::door::Door;
use super::{LACK, is_lack, take};
use crate::cluster::worker::connection::{Connection, Found};
use crate::executor::{EventLoop, TaskOptions};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Starts to accept on the loop.
pub(super) fn start(door: &Arc<Door>, event_loop: &Arc<EventLoop>, listener: OwnedFd) {
    let (door, on) = (Arc::clone(door), Arc::downgrade(event_loop));
    let options = TaskOptions::new().name("accept");
    let accepting = event_loop.spawn_async_with(options, async move {
        // SAFETY: the descriptor is owned by what is registered, and stays the same.
        let listener = unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) };
        if let Ok(listener) = listener {
            accept(&door, &on, listener).await;
        }
    });
    // It ends with the loop.
    drop(accepting.expect("a loop that was just started takes tasks"));
}

async fn accept(door: &Arc<Door>, on: &Weak<EventLoop>, listener: AsyncFd<OwnedFd>) {
    while let Ok(mut ready) = listener.readable().await {
        if door.is_closing() {
            return;
        }
        let mut taken = 0;
        while taken < door.accept.burst {
            let socket = match take(listener.get_ref()) {
                Ok(socket) => socket,
                // There may be more.
                Err(error) if is_lack(&error) => {
                    tokio::time::sleep(LACK).await;
                    break;
                }
                Err(_) => {
                    ready.clear_ready();
                    break;
                }
            };
            taken += 1;
            let connection = Connection::new(socket, door.frame_max);
            let door = Arc::clone(door);
            let Some(event_loop) = on.upgrade() else { return };
            let options = TaskOptions::new().name("connection");
            // A loop that ends drops its connections.
            let _ = event_loop.spawn_async_with(options, async move {
                read(&door, connection).await;
            });
        }
    }
}

/// Reads requests from a connection until it ends.
async fn read(door: &Arc<Door>, mut connection: Connection) {
    let socket = Arc::clone(&connection.socket);
    // SAFETY: the descriptor is owned by what is registered, and stays the same.
    let readable = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
    let Ok(readable) = readable else { return };
    loop {
        let Ok(mut ready) = readable.readable().await else { return };
        let Some(_reading) = door.read() else { return };
        match connection.look(&door.crew) {
            Found::Request(task) => {
                let place = door.place();
                door.run(task, &connection.out, place);
            }
            Found::Nothing => ready.clear_ready(),
            Found::End => return,
        }
    }
}
