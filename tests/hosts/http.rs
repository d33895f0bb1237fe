//! Requests to a server on this machine.

use std::time::Duration;

use serde_json::Value;

/// Sends a request. Returns the status and the answer, as JSON if it is JSON.
pub fn call(method: &str, url: &str, body: Option<&Value>) -> Result<(u16, Value), ureq::Error> {
    let config =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(60)));
    let http = ureq::Agent::new_with_config(config.build());
    let mut answer = match method {
        "GET" => http.get(url).call()?,
        _ => {
            let request = if method == "PATCH" { http.patch(url) } else { http.post(url) };
            request.header("content-type", "application/json").send(body.unwrap_or(&Value::Null).to_string())?
        }
    };
    let text = answer.body_mut().with_config().limit(50_000_000).read_to_string()?;
    Ok((answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text))))
}
