//! When something that is started counts as ready.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, ReadyKeys, ReadyWay};
use crate::suite::schema::{self, Opt};
use crate::suite::template::Place;
use crate::suite::written::Spanned;

impl Resolver {
    pub(super) fn ready(&mut self, ready: Opt<schema::Ready>, place: Place) -> ReadyKeys {
        let mut ready = ready.map(Spanned::into_inner).unwrap_or_default();
        self.one_way_to_be_ready(&ready);
        ReadyKeys {
            status: self.status(ready.status.take()),
            timeout: self.positive_duration_at(ready.timeout.take()),
            way: self.ready_way(ready, place),
        }
    }

    fn ready_way(&mut self, ready: schema::Ready, place: Place) -> Option<At<ReadyWay>> {
        if let Some(path) = ready.path {
            let span = path.span();
            let path = self.request_path(path, place);
            return Some(At::new(ReadyWay::Path(path), span));
        }
        if let Some(command) = ready.command {
            let span = command.span();
            let command = self.command(command, place);
            return Some(At::new(ReadyWay::Command(command), span));
        }
        if let Some(log) = ready.log {
            let span = log.span();
            let log = self.template(log, place);
            return Some(At::new(ReadyWay::Log(log), span));
        }
        let tcp = ready.tcp.filter(|tcp| *tcp.get_ref())?;
        Some(At::new(ReadyWay::Tcp, tcp.span()))
    }

    fn one_way_to_be_ready(&mut self, ready: &schema::Ready) {
        let ways = [
            ("path", ready.path.as_ref().map(Spanned::span)),
            ("command", ready.command.as_ref().map(Spanned::span)),
            ("tcp", ready.tcp.as_ref().map(Spanned::span)),
            ("log", ready.log.as_ref().map(Spanned::span)),
        ];
        let mut ways = ways
            .into_iter()
            .filter_map(|(name, span)| Some((name, span?)));
        if let (Some((first, first_span)), Some((second, span))) = (ways.next(), ways.next()) {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    format!("ready is told by its `{first}` or by its `{second}`, not by both"),
                    span,
                )
                .label("this")
                .and(first_span, "or this")
                .help("take one of them out"),
            );
        }
    }
}

impl ReadyKeys {
    /// These keys laid over others. Who names a way to tell replaces the one below, and with it the
    /// status that it waits for.
    pub(super) fn over(self, under: &Self) -> Self {
        let below = match self.way {
            Some(_) => None,
            None => under.status.clone(),
        };
        Self {
            status: self.status.or(below),
            way: self.way.or_else(|| under.way.clone()),
            timeout: self.timeout.or_else(|| under.timeout.clone()),
        }
    }
}
