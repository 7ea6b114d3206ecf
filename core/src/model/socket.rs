//! The listening socket of a server, and what it sees of clients that leave.
//!
//! Models fill a record; the simulator's kernel has the queue. Numbers are the servers' defaults:
//! Puma 1024 (lib/puma/binder.rb), Unicorn 1024 (lib/unicorn/socket_helper.rb), gunicorn 2048
//! (gunicorn/config.py), uvicorn 2048 (config.py), httpd 511 (`DEFAULT_LISTENBACKLOG`, ap_listen.h).

use super::Field;
use crate::value::{Fields, Value};

/// What clients notice of a server's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// What `listen` is told: this many connections and one more wait to be accepted, within what the
    /// system allows (`net.core.somaxconn`).
    pub backlog: u32,
    /// Whether the experiment says so.
    pub is_set: bool,
    /// Whether a request is dropped unserved whose client has left before it is begun: Puma looks at
    /// the connection's state (`closed_socket?`, lib/puma/request.rb). Others learn of it as they
    /// write the answer: a closed connection still gives the request that was sent over it.
    pub sees_closed: bool,
}

const KEY: &str = "backlog";
const MAX: i64 = 65_535;

/// The key `backlog`, as a listing has it.
pub(super) const fn field(default: &'static str) -> Field {
    Field {
        key: KEY,
        default,
        summary: "connections that wait to be accepted, 1 to 65535; the simulator only",
    }
}

/// Reads the key `backlog`; `without` says what a model has that does not accept.
pub(super) fn read(fields: &Fields<'_>, without: Option<&str>) -> Option<Option<u32>> {
    match (fields.get(KEY), without) {
        (None, _) => Some(None),
        (Some(node), Some(without)) => node.refuse_as("this key", without),
        (Some(node), None) => node.int(1..=MAX).map(|n| Some(n as u32)),
    }
}

/// Writes what [`read`] reads back.
pub(super) fn to_field(backlog: Option<u32>) -> Option<(&'static str, Value)> {
    backlog.map(|n| (KEY, Value::Int(n.into())))
}

/// Words for a label where the backlog is given.
pub(super) fn suffix(backlog: Option<u32>) -> String {
    backlog.map(|n| format!(" backlog {n}")).unwrap_or_default()
}

impl Socket {
    /// A socket whose backlog is given, or the server's own.
    pub(super) fn new(backlog: Option<u32>, default: u32) -> Self {
        let is_set = backlog.is_some();
        Self { backlog: backlog.unwrap_or(default), is_set, sees_closed: false }
    }

    /// The same of a server that sees who has left.
    pub(super) fn seeing_closed(self) -> Self {
        Self { sees_closed: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use crate::Experiment;
    use crate::cluster::accept::{Accept, AcceptWait, Backoff, Between};
    use crate::model::{Model, apache, custom, gunicorn, pitchfork, puma, unicorn, uvicorn};

    const ACCEPT: Accept = Accept {
        wait: AcceptWait::Herd,
        only_when_free: false,
        backoff: Backoff::None,
        burst: 1,
        between: Between::Watched,
    };

    fn read(model: &str) -> Result<Model, String> {
        let text = format!(
            "workload = {{ steps = [{{ io = '1ms' }}] }}\n\
             load = {{ closed = {{ users = 1, requests = 1 }} }}\n[[model]]\n{model}\n"
        );
        let read = Experiment::from_toml(&text).map_err(|error| error.to_string())?;
        Ok(read.models[0].model.clone())
    }

    #[test]
    fn each_server_has_its_own_and_takes_another() {
        for (model, default, text, sees_closed) in [
            (puma().workers(2).into(), 1024, "puma = { workers = 2, backlog = 7 }", true),
            (puma().into(), 1024, "puma = { backlog = 7 }", true),
            (Model::from(unicorn()), 1024, "unicorn = { backlog = 7 }", false),
            (pitchfork().into(), 1024, "pitchfork = { backlog = 7 }", false),
            (custom().accept(ACCEPT).into(), 1024, "custom = { accept = {}, backlog = 7 }", false),
            (gunicorn().into(), 2048, "gunicorn = { backlog = 7 }", false),
            (uvicorn().workers(2).into(), 2048, "uvicorn = { workers = 2, backlog = 7 }", false),
            (apache().into(), 511, "apache = { backlog = 7 }", false),
        ] {
            let socket = model.topology().socket;
            assert_eq!((socket.backlog, socket.is_set), (default, false), "{model:?}");
            assert_eq!(socket.sees_closed, sees_closed, "{model:?}");
            let given = read(text).unwrap();
            let socket = given.topology().socket;
            assert_eq!((socket.backlog, socket.is_set), (7, true), "{given:?}");
            assert!(given.topology().label.ends_with(" backlog 7"), "{given:?}");
            assert_eq!(read(&given.to_value().to_toml().replace("[", "[model.")), Ok(given));
        }
        let built = [
            Model::from(puma().workers(2).backlog(7)),
            unicorn().backlog(7).into(),
            pitchfork().backlog(7).into(),
            custom().accept(ACCEPT).backlog(7).into(),
            gunicorn().backlog(7).into(),
            uvicorn().workers(2).backlog(7).into(),
            apache().backlog(7).into(),
        ];
        for model in built {
            assert_eq!((model.check(), model.topology().socket.backlog), (Ok(()), 7), "{model:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_told() {
        for (model, expected) in [
            (
                "custom = { backlog = 5 }",
                "model[0].custom.backlog: this key is not allowed, expected accept beside it",
            ),
            (
                "nginx = { server = { puma = { backlog = 5 } } }",
                "model[0].nginx.server: a puma with a backlog",
            ),
            ("uvicorn = { backlog = 5 }", "model[0].uvicorn.backlog: this key is not allowed"),
            ("pool = { backlog = 5 }", "model[0].pool.backlog: this key is not allowed"),
            ("webrick = { backlog = 5 }", "model[0].webrick.backlog: this key is not allowed"),
            (
                "unicorn = { backlog = 0 }",
                "model[0].unicorn.backlog: 0 is not allowed, expected a whole number in 1..=65535",
            ),
            ("apache = { backlog = 'long' }", "model[0].apache.backlog: \"long\" is not allowed"),
            ("gunicorn = { backlog = 65536 }", "model[0].gunicorn.backlog: 65536 is not allowed"),
        ] {
            let told = read(model).unwrap_err();
            assert!(told.starts_with(expected), "{model}: {told}");
        }
    }
}
