//! What a person does when `sweep init` has ended.

use super::answers::SetupAnswers;
use super::deployed::{PROGRAM, program_of_service};
use super::deployment::{Deployment, OF_SERVICES};
use crate::cli::RunBy;
use crate::store::Url;
use crate::text::redact;

/// What a person does then.
pub fn what_next(deployment: &Deployment, answers: &SetupAnswers, is_whole: bool) -> String {
    let begin = if is_whole { "\nAll is set up." } else { "\nNot all of it was done; `sweep init` can be run again." };
    let to = shell_words::quote(&deployment.to.to_string_lossy()).into_owned();
    let (env, url) = (deployment.settings_path(), deployment.secret_path("database-url"));
    let (env, url) = (env.display(), url.display());
    let lines: Vec<String> = match deployment.run_by {
        RunBy::Systemd => {
            let is_new = !deployment.is_packaged || !answers.secrets.is_empty();
            let reload = is_new.then(|| "systemctl daemon-reload".to_owned());
            let rest = [
                "systemctl enable --now sweep.timer".to_owned(),
                "systemctl start sweep && journalctl -u sweep -n 20     # the first sweep".to_owned(),
                format!("DATABASE_URL_FILE={url} sweep doctor --config {env}"),
            ];
            reload.into_iter().chain(rest).collect()
        }
        RunBy::Cronjob => vec![
            format!("edit {to}/kustomization.yaml: the image's name"),
            format!("kubectl apply -f {to}/namespace.yaml"),
            format!("kubectl create secret generic -n sweep sweep --from-file={to}/secret"),
            format!("kubectl apply -k {to}"),
        ],
        RunBy::Helm => vec![
            format!("edit {env}: the image's repository"),
            "kubectl create namespace sweep".to_owned(),
            format!("kubectl create secret generic -n sweep sweep --from-file={to}/secret"),
            format!("helm install sweep deploy/helm/sweep -n sweep -f {env}"),
        ],
        RunBy::None => {
            vec![format!("sweep --config {env}              # the first sweep"), format!("sweep doctor --config {env}")]
        }
    };
    let lines: String = lines.iter().map(|line| format!("  {}\n", redact(line))).collect();
    let advice: String = advice(deployment, answers).iter().map(|advice| format!("\n{advice}\n")).collect();
    format!("{begin} What comes next:\n\n{lines}{advice}")
}

fn advice(deployment: &Deployment, answers: &SetupAnswers) -> Vec<String> {
    let of_role = "Sweeps need fewer rights than a migration: give them the URL of the role sweeper of \
                   deploy/postgres/role.sql, as the section The roles of docs/operating.md says.";
    let of_role = matches!(answers.database, Url::Postgres(..)).then(|| of_role.to_owned());
    let is_elsewhere = deployment.run_by == RunBy::Systemd
        && matches!(answers.database, Url::Sqlite(_))
        && !answers.database_url.ends_with(OF_SERVICES);
    let of_file = is_elsewhere.then(|| {
        format!(
            "The service has a user of its own, who may write to no other file than {OF_SERVICES}: for {} give it \
             a User= and ReadWritePaths= by `systemctl edit sweep`.",
            answers.database_shown()
        )
    });
    let has_units = deployment.run_by == RunBy::Systemd && !deployment.is_packaged;
    let of_program = (has_units && program_of_service().is_none()).then(|| {
        let program = std::env::current_exe().unwrap_or_default();
        format!("A service cannot run {}: install the program as {PROGRAM}, which the unit names.", program.display())
    });
    of_role.into_iter().chain(of_file).chain(of_program).collect()
}
