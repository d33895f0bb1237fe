//! How well loops are distinguished from work: `make loops`, or for other logs `cargo bench --bench loops -- FILE…`.

#[path = "../../tests/suite/supervisor/loops/evaluation.rs"]
mod evaluation;

use std::env::args;
use std::path::Path;
use std::time::Instant;

use evaluation::{CIRCLES, Log};

fn main() {
    let given: Vec<String> = args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let logs = match given.is_empty() {
        true => evaluation::read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")),
        false => given.iter().map(|path| evaluation::read_log(Path::new(path))).collect(),
    };
    print_false_alarms(&logs);
    print_circles(&logs);
}

fn print_false_alarms(logs: &[Log]) {
    println!("| log | windows | false alarms |\n|---|---|---|");
    let began = Instant::now();
    let (mut windows, mut alarms) = (0, 0);
    for log in logs {
        let found = log.false_alarms();
        println!("| {} | {} | {} |", log.name, log.windows(), found.len());
        for (line, found) in &found {
            eprintln!("{}:{line}: {} × {:?}", log.name, found.times, found.lines);
        }
        windows += log.windows();
        alarms += found.len();
    }
    println!("| all | {windows} | {alarms} = {:.2} % |", 100.0 * alarms as f64 / windows as f64);
    println!("\n{:.0} µs for each window\n", began.elapsed().as_secs_f64() * 1e6 / windows as f64);
}

fn print_circles(logs: &[Log]) {
    println!("| loop | put in | found | called too early | called too late |\n|---|---|---|---|---|");
    let (mut put_in, mut right, mut wrong) = (0, 0, 0);
    let places = evaluation::places(logs);
    for circle in &CIRCLES {
        let outcome = circle.put_into(&places);
        let (early, late) = (outcome.called_too_early, outcome.called_too_late);
        println!("| {} | {} | {} | {early} | {late} |", circle.name, outcome.put_in, outcome.found);
        put_in += outcome.put_in;
        right += outcome.found;
        wrong += early + late;
    }
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
    println!("\nrecall {:.2} %, precision {:.2} %", percent(right, put_in), percent(right, right + wrong));
}
