//! The application of a worker: handlers by name, filled in by the embedder's `load`.

use crate::executor::Context;
use crate::gvl::Hook;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

/// What a handler gives: bytes, or why it failed.
pub type Answer = Result<Bytes, String>;

pub(crate) type OnThread = Arc<dyn Fn(&mut Context<'_>, Bytes) -> Answer + Send + Sync>;
pub(crate) type OnLoop =
    Arc<dyn Fn(Bytes) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// A handler of either kind.
#[derive(Clone)]
pub(crate) enum Handler {
    /// Runs on a thread, holding the global lock.
    OnThread(OnThread),
    /// A future that the event loop polls.
    OnLoop(OnLoop),
}

/// What a worker can do: handlers by name.
///
/// The embedder's `load` fills it, once a worker, or once for all of them in a template process.
pub struct App {
    setup: String,
    pub(crate) handlers: BTreeMap<String, Handler>,
    /// Called at each event in a thread's life under the worker's lock.
    pub(crate) hook: Option<Hook>,
    pub(crate) report: Option<Box<dyn Fn() -> serde_json::Value + Send + Sync>>,
}

impl App {
    pub(crate) fn new(setup: String) -> Self {
        Self { setup, handlers: BTreeMap::new(), hook: None, report: None }
    }

    /// The text that the master's builder was given for it; empty where there was none.
    pub fn setup(&self) -> &str {
        &self.setup
    }

    /// Registers a handler that takes and gives bytes; a handler of the same name is replaced.
    ///
    /// # Panics
    /// If the name is empty or longer than 255 bytes: the worker refuses to serve and says so.
    pub fn handler<F, B>(&mut self, name: &str, handler: F)
    where
        F: Fn(&mut Context<'_>, Bytes) -> Result<B, String> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        let handler: OnThread = Arc::new(move |cx, payload| handler(cx, payload).map(B::into));
        self.add(name, Handler::OnThread(handler));
    }

    /// Registers a handler of values, which go as JSON.
    ///
    /// # Panics
    /// As [`App::handler`].
    pub fn typed<F, I, O>(&mut self, name: &str, handler: F)
    where
        F: Fn(&mut Context<'_>, I) -> Result<O, String> + Send + Sync + 'static,
        I: DeserializeOwned,
        O: Serialize,
    {
        self.handler(name, move |cx, payload| {
            let input = serde_json::from_slice(&payload).map_err(|e| format!("its input: {e}"))?;
            let output = handler(cx, input)?;
            serde_json::to_vec(&output).map_err(|e| format!("its output: {e}"))
        });
    }

    /// Registers a handler whose future an event loop polls. A worker of threads refuses to serve
    /// with one.
    ///
    /// # Panics
    /// As [`App::handler`].
    pub fn async_handler<F, A, B>(&mut self, name: &str, handler: F)
    where
        F: Fn(Bytes) -> A + Send + Sync + 'static,
        A: Future<Output = Result<B, String>> + Send + 'static,
        B: Into<Bytes>,
    {
        let handler: OnLoop = Arc::new(move |payload| {
            let answer = handler(payload);
            Box::pin(async move { answer.await.map(B::into) })
        });
        self.add(name, Handler::OnLoop(handler));
    }

    /// Calls `hook` at each event in a thread's life under the worker's global lock.
    pub fn hook(&mut self, hook: Hook) {
        self.hook = Some(hook);
    }

    /// Adds to the worker's report what the application counts.
    pub fn report(&mut self, report: impl Fn() -> serde_json::Value + Send + Sync + 'static) {
        self.report = Some(Box::new(report));
    }

    fn add(&mut self, name: &str, handler: Handler) {
        let allowed = 1..=super::wire::NAME_MAX;
        assert!(
            allowed.contains(&name.len()),
            "handler: {:?} is not allowed, expected a name of 1 to 255 bytes",
            name.chars().take(60).collect::<String>(),
        );
        self.handlers.insert(name.to_owned(), handler);
    }
}
