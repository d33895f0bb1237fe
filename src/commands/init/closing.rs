//! What a person does when `sweep init` has ended.

use std::path::Path;

use super::answers::SetupAnswers;
use super::deployed::{PROGRAM, program_of_service};
use super::deployment::{Deployment, OF_SERVICES, secret_of};
use crate::cli::RunBy;
use crate::settings::file::variables;
use crate::store::Url;
use crate::text::redact;

/// The commands that a person types then, if all was done.
pub fn what_next(deployment: &Deployment, answers: &SetupAnswers) -> String {
    let (to, env) = (quoted(&deployment.to), quoted(&deployment.settings_path()));
    let lines: Vec<String> = match deployment.run_by {
        RunBy::Systemd => {
            let is_new = !deployment.is_packaged || !answers.secrets.is_empty();
            let reload = is_new.then(|| "systemctl daemon-reload".to_owned());
            let rest = [
                "systemctl enable --now sweep.timer".to_owned(),
                "systemctl start sweep && journalctl -u sweep -n 20".to_owned(),
                format!("{} sweep doctor --config {env}", secrets_named(deployment)),
            ];
            reload.into_iter().chain(rest).collect()
        }
        RunBy::Cronjob => vec![
            format!("kubectl apply -f {to}/namespace.yaml"),
            format!("kubectl create secret generic -n sweep sweep --from-file={to}/secret"),
            format!("kubectl apply -k {to}"),
        ],
        RunBy::Helm => vec![
            "kubectl create namespace sweep".to_owned(),
            format!("kubectl create secret generic -n sweep sweep --from-file={to}/secret"),
            format!("helm install sweep {CHART} --version {} -n sweep -f {env}", env!("CARGO_PKG_VERSION")),
        ],
        RunBy::None => {
            vec![format!("sweep --config {env}"), format!("sweep doctor --config {env}")]
        }
    };
    let lines: String = lines.iter().map(|line| format!("  {}\n", redact(line))).collect();
    format!("\nAll is set up. What comes next:\n\n{lines}")
}

/// Where the chart of each release is.
const CHART: &str = "oci://ghcr.io/agent-sweep/charts/sweep";

/// The files of a service's secrets, which its units name, in the variables of a command by hand.
fn secrets_named(deployment: &Deployment) -> String {
    let all = ["DATABASE_URL_FILE".to_owned()].into_iter().chain(variables());
    let there = all.filter_map(|variable| {
        let path = deployment.secret_path(&secret_of(variable.strip_suffix("_FILE")?));
        path.exists().then(|| format!("{variable}={}", quoted(&path)))
    });
    there.collect::<Vec<_>>().join(" ")
}

/// A path, as a word of a shell's.
fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

/// What a person should know besides.
pub fn advice(deployment: &Deployment, answers: &SetupAnswers) -> String {
    let of_role = "Sweeps need fewer rights than a migration: give them the URL of the role sweeper of \
                   deploy/postgres/role.sql, as the section The roles of docs/operating.md says.";
    let of_role = matches!(answers.database, Url::Postgres(..)).then(|| of_role.to_owned());
    let is_elsewhere =
        deployment.run_by == RunBy::Systemd && matches!(answers.database, Url::Sqlite(_)) && !answers.is_services_own();
    let of_file = is_elsewhere.then(|| {
        format!(
            "The service has a user of its own, who may write to no other file than {OF_SERVICES}. For {}, give \
             the service a User= and ReadWritePaths= by `systemctl edit sweep`.",
            answers.database_shown()
        )
    });
    let has_units = deployment.run_by == RunBy::Systemd && !deployment.is_packaged;
    let of_program = (has_units && program_of_service().is_none()).then(|| {
        let program = std::env::current_exe().unwrap_or_default();
        format!("A service cannot run {}: install the program as {PROGRAM}, which the unit names.", program.display())
    });
    let all = of_role.into_iter().chain(of_file).chain(of_program);
    all.map(|advice| format!("\n{advice}\n")).collect()
}
