//! What holds of the expansion of any suite: how many cells there are and in what order, that each is
//! one, what `exclude` and `include` do to them, which layer wins, and in what order trials run. A small
//! model that counts on its fingers is the oracle.

#![expect(
    clippy::unwrap_used,
    reason = "a suite of these tests that does not resolve has failed its test"
)]

use hotlap::diagnostic::{SourceText, Style, render};
use hotlap::plan::{Options, Plan, PlanError, schedule, spec};
use hotlap::spec::{Cell, Spec, line};
use hotlap::suite::{Suite, check};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// A suite by its numbers.
#[derive(Debug, Clone)]
struct Model {
    servers: usize,
    loads: usize,
    toggles: Vec<ToggleModel>,
}

#[derive(Debug, Clone)]
struct ToggleModel {
    values: usize,
    /// The servers and loads that have it; none for all.
    servers: Option<BTreeSet<usize>>,
    loads: Option<BTreeSet<usize>>,
}

impl ToggleModel {
    fn applies(&self, server: usize, load: usize) -> bool {
        let has =
            |set: &Option<BTreeSet<usize>>, at| set.as_ref().is_none_or(|set| set.contains(&at));
        has(&self.servers, server) && has(&self.loads, load)
    }
}

/// A cell by positions; none where a toggle does not apply.
type Place = (usize, Vec<Option<usize>>, usize);

impl Model {
    fn text(&self) -> String {
        let mut out = String::from("[defaults.server]\ncommand = \"true\"\n");
        for server in 0..self.servers {
            writeln!(out, "[servers.s{server}]\nenv = {{ WHO = \"s{server}\" }}").unwrap();
        }
        let list = |letter: &str, set: &BTreeSet<usize>| {
            let names: Vec<String> = set.iter().map(|at| format!("\"{letter}{at}\"")).collect();
            format!("[{}]", names.join(", "))
        };
        for (at, toggle) in self.toggles.iter().enumerate() {
            writeln!(out, "[toggles.t{at}]").unwrap();
            if let Some(servers) = &toggle.servers {
                writeln!(out, "servers = {}", list("s", servers)).unwrap();
            }
            if let Some(loads) = &toggle.loads {
                writeln!(out, "loads = {}", list("l", loads)).unwrap();
            }
            let values: Vec<String> = (0..toggle.values).map(|value| value.to_string()).collect();
            writeln!(
                out,
                "values = [{}]\nenv.T{at} = \"{{{{ value }}}}\"",
                values.join(", ")
            )
            .unwrap();
        }
        for load in 0..self.loads {
            writeln!(out, "[loads.l{load}]\npath = \"/l{load}\"").unwrap();
        }
        out
    }

    /// The whole product, in file order.
    fn places(&self) -> Vec<Place> {
        let mut all = Vec::new();
        for server in 0..self.servers {
            for load in 0..self.loads {
                let mut choices = vec![Vec::new()];
                for toggle in &self.toggles {
                    let values: Vec<Option<usize>> = if toggle.applies(server, load) {
                        (0..toggle.values).map(Some).collect()
                    } else {
                        vec![None]
                    };
                    choices = choices
                        .into_iter()
                        .flat_map(|chosen: Vec<Option<usize>>| {
                            values.iter().map(move |value| {
                                let mut chosen = chosen.clone();
                                chosen.push(*value);
                                chosen
                            })
                        })
                        .collect();
                }
                all.extend(choices.into_iter().map(|choice| (server, choice, load)));
            }
        }
        in_order(all)
    }

    /// A toggle and one of its values, from any two numbers.
    fn pick(&self, (toggle, value): (usize, usize)) -> (usize, usize) {
        let toggle = toggle % self.toggles.len();
        (toggle, value % self.toggles[toggle].values)
    }
}

/// The order of rows: server, values of toggles, load; a toggle that does not apply is at its first.
fn in_order(mut places: Vec<Place>) -> Vec<Place> {
    places.sort_by_key(|(server, values, load)| {
        let values: Vec<usize> = values.iter().map(|value| value.unwrap_or(0)).collect();
        (*server, values, *load)
    });
    places
}

fn name((server, values, load): &Place) -> String {
    let mut out = format!("s{server}");
    for (at, value) in values.iter().enumerate() {
        if let Some(value) = value {
            write!(out, "/t{at}={value}").unwrap();
        }
    }
    write!(out, "@l{load}").unwrap();
    out
}

fn model() -> impl Strategy<Value = Model> {
    let subset =
        |of: usize| prop::option::weighted(0.3, prop::collection::btree_set(0..of, 1..=of));
    (1usize..4, 1usize..3)
        .prop_flat_map(move |(servers, loads)| {
            let toggle = (1usize..4, subset(servers), subset(loads));
            let toggles = prop::collection::vec(toggle, 0..4);
            (Just(servers), Just(loads), toggles)
        })
        .prop_map(|(servers, loads, toggles)| Model {
            servers,
            loads,
            toggles: toggles
                .into_iter()
                .map(|(values, servers, loads)| ToggleModel {
                    values,
                    servers,
                    loads,
                })
                .collect(),
        })
}

fn read(text: &str) -> Suite {
    let source = SourceText {
        name: "random.toml".to_owned(),
        text: text.to_owned(),
    };
    let checked = check(&source, "random", Path::new("."));
    let shown = render(&source, &checked.diagnostics, Style::Plain);
    checked.suite.expect(&shown)
}

fn plan_with(text: &str, options: &Options) -> Result<Spec, String> {
    spec(&read(text), options).map_err(|error| match error {
        PlanError::Suite(mistakes) => mistakes
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
        PlanError::Option(message) => message,
    })
}

fn plan(text: &str) -> Spec {
    plan_with(text, &Options::default()).unwrap()
}

fn names(spec: &Spec) -> Vec<String> {
    spec.cells
        .iter()
        .map(|cell| cell.id.names().to_owned())
        .collect()
}

fn env(cell: &Cell) -> BTreeMap<String, String> {
    cell.processes[0]
        .env
        .iter()
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect()
}

/// A selector of some toggles' values, as TOML and as a test of places.
fn selector(picks: &[(usize, usize)]) -> String {
    let axes: BTreeMap<usize, usize> = picks.iter().copied().collect();
    let pairs: Vec<String> = axes
        .iter()
        .map(|(toggle, value)| format!("t{toggle} = {value}"))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn selects(picks: &[(usize, usize)], (_, values, _): &Place) -> bool {
    let axes: BTreeMap<usize, usize> = picks.iter().copied().collect();
    axes.iter()
        .all(|(toggle, value)| values[*toggle] == Some(*value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn cells_are_the_product_of_what_applies_in_file_order(model in model()) {
        let spec = plan(&model.text());
        let expected: Vec<String> = model.places().iter().map(name).collect();
        prop_assert_eq!(names(&spec), expected);
        let ids: BTreeSet<&str> = spec.cells.iter().map(|cell| cell.id.0.as_str()).collect();
        prop_assert_eq!(ids.len(), spec.cells.len());
    }

    #[test]
    fn cells_made_one_at_a_time_are_the_cells_of_the_spec(model in model()) {
        let suite = read(&model.text());
        let options = Options::default();
        let mut plan = Plan::new(&suite, &options).unwrap();
        let names: Vec<String> = (0..plan.len()).map(|cell| plan.name(cell)).collect();
        let cells: Vec<Cell> = plan.cells().collect();
        let spec = spec(&suite, &options).unwrap();
        prop_assert_eq!(names, self::names(&spec));
        prop_assert_eq!(cells, spec.cells);
    }

    #[test]
    fn a_cell_depends_on_nothing_but_the_suite(model in model(), seed in 1u64..1000) {
        let options = Options {
            random_seed: seed,
            env: [("HOME".to_owned(), format!("/home/{seed}"))].into(),
            ..Options::default()
        };
        let other = plan_with(&model.text(), &options).unwrap();
        prop_assert_eq!(plan(&model.text()).cells, other.cells);
    }

    #[test]
    fn what_is_excluded_goes_and_what_is_included_comes_back(
        model in model(),
        exclude in prop::collection::vec((0usize..4, 0usize..4), 1..3),
        include in prop::collection::vec((0usize..4, 0usize..4), 1..3),
    ) {
        if model.toggles.is_empty() {
            return Ok(());
        }
        let exclude: Vec<_> = exclude.into_iter().map(|pick| model.pick(pick)).collect();
        let include: Vec<_> = include.into_iter().map(|pick| model.pick(pick)).collect();
        let all = model.places();
        let kept: Vec<Place> = all.iter().filter(|place| !selects(&exclude, place)).cloned().collect();
        // An axis that is not named: the first server, the first value, every load.
        let wanted: BTreeMap<usize, usize> = include.iter().copied().collect();
        let added: Vec<Place> = all
            .iter()
            .filter(|(server, values, _)| {
                *server == 0
                    && wanted.iter().all(|(toggle, value)| values[*toggle] == Some(*value))
                    && values.iter().enumerate().all(|(toggle, value)| {
                        wanted.contains_key(&toggle) || value.is_none_or(|value| value == 0)
                    })
            })
            .cloned()
            .collect();
        let text = format!(
            "{}[matrix]\nexclude = [{}]\ninclude = [{}]\n",
            model.text(), selector(&exclude), selector(&include)
        );
        let useless = kept.len() == all.len()
            || added.is_empty()
            || added.iter().all(|place| kept.contains(place));
        let planned = plan_with(&text, &Options::default());
        if useless {
            prop_assert!(planned.is_err(), "a selector without effect is an error");
            return Ok(());
        }
        let mut union = kept;
        for place in added {
            if !union.contains(&place) {
                union.push(place);
            }
        }
        let expected: Vec<String> = in_order(union).iter().map(name).collect();
        prop_assert_eq!(names(&planned.unwrap()), expected);
    }

    #[test]
    fn one_at_a_time_departs_in_one_toggle_from_the_baseline(
        model in model(),
        base in prop::collection::vec(0usize..3, 4),
    ) {
        let baseline: Vec<usize> = model
            .toggles
            .iter()
            .zip(&base)
            .map(|(toggle, base)| base % toggle.values)
            .collect();
        let picks: Vec<(usize, usize)> = baseline.iter().copied().enumerate().collect();
        let text = format!("{}[matrix]\ncombine = \"one-at-a-time\"\n[run]\nbaseline = {}\n", model.text(), selector(&picks));
        let departs = |(_, values, _): &Place| {
            values
                .iter()
                .zip(&baseline)
                .filter(|(value, base)| value.is_some_and(|value| value != **base))
                .count()
        };
        let expected: Vec<String> = model
            .places()
            .iter()
            .filter(|place| departs(place) <= 1)
            .map(name)
            .collect();
        match plan_with(&text, &Options::default()) {
            Ok(spec) => {
                prop_assert_eq!(names(&spec), expected);
                let count: usize = (0..model.servers)
                    .flat_map(|server| (0..model.loads).map(move |load| (server, load)))
                    .map(|(server, load)| {
                        let departures = model.toggles.iter().filter(|toggle| toggle.applies(server, load));
                        1 + departures.map(|toggle| toggle.values - 1).sum::<usize>()
                    })
                    .sum();
                prop_assert_eq!(spec.cells.len(), count);
            }
            Err(message) => prop_assert!(false, "{}", message),
        }
    }

    #[test]
    fn only_and_skip_are_filters(model in model(), only in (0usize..4, 0usize..4), skip in (0usize..4, 0usize..4)) {
        if model.toggles.is_empty() {
            return Ok(());
        }
        let (only, skip) = (model.pick(only), model.pick(skip));
        let pair = |(toggle, value): (usize, usize)| (format!("t{toggle}"), value.to_string());
        let options = Options {
            only: vec![pair(only), ("server".to_owned(), "s0".to_owned())],
            skip: vec![pair(skip)],
            ..Options::default()
        };
        let expected: Vec<String> = model
            .places()
            .iter()
            .filter(|place| place.0 == 0 && selects(&[only], place) && !selects(&[skip], place))
            .map(name)
            .collect();
        prop_assert_eq!(names(&plan_with(&model.text(), &options).unwrap()), expected);
    }

    #[test]
    fn the_last_layer_that_sets_a_key_wins(layers in prop::collection::vec(any::<bool>(), 7)) {
        let mark = |at: usize, table: &str, text: &str| {
            if layers[at] { format!("{table}\n{text}\n") } else { String::new() }
        };
        let keys = |who: &str| format!("command = \"{who} run\"\nenv = {{ WHO = \"{who}\" }}");
        let text = [
            mark(0, "[defaults.server]", &keys("defaults")),
            format!("[servers.a]\nready = {{ path = \"/\" }}\n{}", mark(1, "", &keys("server"))),
            mark(2, "[servers.a.processes.p]", &keys("process")),
            mark(3, "[toggles.first]\nvalues.on = {}", &keys("first")),
            // Two toggles must not disagree unless an override settles it.
            mark(4, "[[overrides]]", "set.env.WHO = \"override\"\nset.command = \"override run\""),
            mark(5, "[[overrides]]", "when = { server = \"a\" }\nset.env.WHO = \"last\""),
            "[loads.l]\n".to_owned(),
        ]
        .concat();
        let sets: Vec<&str> = ["defaults", "server", "process", "first", "override", "last"]
            .into_iter()
            .enumerate()
            .filter(|(at, _)| layers[*at])
            .map(|(_, who)| who)
            .collect();
        let command = sets.iter().rfind(|who| **who != "last");
        let planned = plan_with(&text, &Options::default());
        let Some(command) = command else {
            prop_assert!(planned.is_err(), "a server without a command");
            return Ok(());
        };
        let spec = planned.unwrap();
        let cell = &spec.cells[0];
        prop_assert_eq!(line(&cell.processes[0].command), format!("{command} run"));
        let env = env(cell);
        prop_assert_eq!(env["WHO"].as_str(), *sets.last().unwrap());
    }

    #[test]
    fn each_round_is_every_cell_once_and_a_seed_is_an_order(model in model(), seed in 1u64..1_000_000) {
        let options = Options { seed: Some(seed), repetitions: Some(3), ..Options::default() };
        let spec = plan_with(&model.text(), &options).unwrap();
        let trials = schedule(&spec);
        prop_assert_eq!(&trials, &schedule(&spec));
        prop_assert_eq!(trials.len(), spec.cells.len() * 3);
        let all: BTreeSet<&str> = spec.cells.iter().map(|cell| cell.id.0.as_str()).collect();
        for (at, round) in trials.chunks(spec.cells.len()).enumerate() {
            let cells: BTreeSet<&str> = round.iter().map(|turn| turn.trial.cell.0.as_str()).collect();
            prop_assert_eq!(&cells, &all);
            prop_assert!(round.iter().all(|turn| turn.round as usize == at + 1));
            prop_assert!(round.iter().all(|turn| turn.trial.repetition == turn.round));
        }
    }

    #[test]
    fn a_baseline_differs_only_in_what_it_names(model in model()) {
        let Some(at) = model.toggles.iter().position(|toggle| toggle.values > 1) else {
            return Ok(());
        };
        let text = format!("{}[run]\nbaseline = {{ t{at} = 1 }}\n", model.text());
        let spec = plan(&text);
        let toggle = format!("t{at}");
        for cell in &spec.cells {
            let own = cell.toggles.iter().find(|choice| choice.toggle == toggle);
            let Some(own) = own else {
                prop_assert_eq!(&cell.baseline, &None);
                continue;
            };
            if own.value == "1" {
                prop_assert_eq!(&cell.baseline, &None);
                continue;
            }
            let id = cell.baseline.clone().unwrap();
            let baseline = spec.cell(&id).unwrap();
            prop_assert_eq!(&baseline.server, &cell.server);
            prop_assert_eq!(&baseline.load, &cell.load);
            for (one, other) in baseline.toggles.iter().zip(&cell.toggles) {
                let same = one.value == other.value;
                prop_assert_eq!(same, one.toggle != toggle);
            }
        }
    }
}
