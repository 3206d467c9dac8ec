//! What goes wrong for people who measure servers, made to happen: the real binary, real
//! processes, servers that misbehave on purpose, and a look at what is published of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fixture;
mod kit;

mod answers;
mod ceiling;
mod certificates;
mod command;
mod compare;
mod cron;
mod doctor;
mod effect;
mod figures;
mod gates;
mod generators;
mod growth;
mod h2;
mod hints;
mod history;
mod images;
mod init;
mod kill;
mod life;
mod load;
mod making;
mod mixes;
mod paced;
mod pages;
mod publish;
mod revisions;
mod rounds;
mod servers;
mod tls;
mod unix;
mod warmup;
