//! Tests from outside: the command, the library by its front door, the examples, the documents.
//!
//! Nothing here sleeps or measures how long something took: real runs are judged by counts, orders
//! and ceilings.

mod bad_input;
mod cli;
mod command;
mod documents;
mod examples;
mod executor;
mod library;
mod processes;
mod reproduce;
mod sim;
mod statuses;
mod sweep;
mod terminal;
mod timeline;
mod workers;
