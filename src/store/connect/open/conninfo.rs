//! What a connection string of libpq's says: a URI or `key=value` pairs. libpq reads the string itself; here it is only
//! looked at, in the same way, to know where a password would go and which parts of the string are secrets. What libpq
//! would refuse says nothing.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING>

use std::net::IpAddr;
use std::ops::Range;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What authenticates by itself.
const SECRETS: [&str; 5] = ["password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret"];

/// What may have a secret in it, or names a file that has.
const HOLDERS: [&str; 5] = ["options", "passfile", "servicefile", "sslkey", "sslkeylogfile"];

const HIDDEN: &str = "***";

/// The parameters, in the order in which they stand. None: libpq refuses the string.
pub struct Conninfo<'a> {
    text: &'a str,
    parameters: Option<Vec<Parameter>>,
}

#[derive(Debug, PartialEq)]
struct Parameter {
    name: String,
    value: String,
    /// Where the value stands, with its quotes.
    at: Range<usize>,
}

/// Where a server is, as far as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPlace {
    /// A Unix socket of this machine.
    Socket,
    /// This machine, over TCP.
    Loopback,
    /// Another machine.
    Remote,
}

impl Conninfo<'_> {
    pub fn read(text: &str) -> Conninfo<'_> {
        let parameters = rest_of_uri(text).map_or_else(|| of_pairs(text), |rest| of_uri(text, rest));
        let parameters = parameters.filter(|parameters| parameters.iter().all(|parameter| is_name(&parameter.name)));
        Conninfo { text, parameters }
    }

    fn parameters(&self) -> impl DoubleEndedIterator<Item = &Parameter> {
        self.parameters.iter().flatten()
    }

    /// The last one counts; an empty one is none.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters().rev().find(|parameter| parameter.name == name);
        found.map(|parameter| parameter.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Where its servers are, each tried after the one before it; none when it does not say.
    pub fn places(&self) -> Vec<ServerPlace> {
        let hosts = self.get("hostaddr").or_else(|| self.get("host"));
        hosts.map(|hosts| hosts.split(',').map(place).collect()).unwrap_or_default()
    }

    /// May TLS be spoken? Sockets know none, whatever sslmode says; what a service says stands in a file of libpq's.
    pub fn can_be_encrypted(&self) -> bool {
        let places = self.places();
        !places.is_empty() && !places.contains(&ServerPlace::Socket) && self.get("service").is_none()
    }

    /// Will there be TLS, or no connection?
    pub fn is_encrypted(&self) -> bool {
        self.can_be_encrypted() && matches!(self.get("sslmode"), Some("require" | "verify-ca" | "verify-full"))
    }

    /// The mode of TLS, if others on the way to a server could read what is sent, or answer in its place.
    pub fn unverified(&self) -> Option<&str> {
        let sslmode = self.get("sslmode").unwrap_or("prefer");
        (self.places().contains(&ServerPlace::Remote) && sslmode != "verify-full").then_some(sslmode)
    }

    /// The server and the database, as people tell databases apart: `db.example/agents`.
    pub fn name(&self) -> String {
        if self.parameters.is_none() {
            return HIDDEN.to_owned();
        }
        let ports: Vec<&str> = self.ports().filter(|port| *port != "5432").collect();
        let port = if ports.is_empty() { String::new() } else { format!(":{}", ports.join(",")) };
        let server = self.get("host").or_else(|| self.get("hostaddr")).or_else(|| self.get("service"));
        let database = self.get("dbname").or_else(|| self.get("user")).unwrap_or_default();
        // libpq would read a connection string in its place.
        let database = if database.contains(['=', ':']) { HIDDEN } else { database };
        format!("{}{port}/{database}", server.unwrap_or("localhost"))
    }

    /// The ports that it names.
    pub fn ports(&self) -> impl Iterator<Item = &str> {
        let ports = self.parameters().filter(|parameter| parameter.name == "port");
        ports.flat_map(|port| port.value.split(',').map(str::trim)).filter(|port| !port.is_empty())
    }

    /// What decides where libpq connects, and as whom: another user may see other rows. None: libpq refuses the string.
    pub fn destination(&self) -> Option<[Option<&str>; 10]> {
        const DECIDING: [&str; 10] = [
            "host", "hostaddr", "port", "dbname", "user", "service", "servicefile", "options", "target_session_attrs",
            "load_balance_hosts",
        ];
        self.parameters.as_ref().map(|_| DECIDING.map(|name| self.get(name)))
    }

    /// Where it leads and as whom, as pairs, without what authenticates. None: libpq refuses it, or a secret may stand
    /// elsewhere in it, or where it says.
    pub fn without_credentials(&self) -> Option<String> {
        const LEADING: [&str; 8] =
            ["service", "host", "hostaddr", "port", "dbname", "user", "sslmode", "target_session_attrs"];
        let holds = HOLDERS.iter().any(|name| self.get(name).is_some());
        let is_connection_string = self.get("dbname").is_some_and(|name| name.contains(['=', ':']));
        if self.parameters.is_none() || holds || is_connection_string {
            return None;
        }
        let is_bare = |value: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || "-._/:,@".contains(c));
        let pairs = LEADING.iter().filter_map(|name| Some((*name, self.get(name)?)));
        let pairs = pairs.map(|(name, value)| match is_bare(value) {
            true => format!("{name}={value}"),
            false => with("", name, value),
        });
        Some(pairs.collect::<Vec<_>>().join(" "))
    }

    /// Has it a password, or what serves as one?
    pub fn has_password(&self) -> bool {
        self.parameters().any(|parameter| SECRETS.contains(&parameter.name.as_str()) && !parameter.value.is_empty())
    }

    /// Its text with `***` in the place of secrets; all of it, when libpq would not understand it either.
    pub fn hidden(&self) -> String {
        if self.parameters.is_none() {
            return HIDDEN.to_owned();
        }
        let is_hidden = |name: &str| SECRETS.contains(&name) || HOLDERS.contains(&name);
        let mut hidden = self.text.to_owned();
        // From the end, so that what stands before keeps its place.
        for parameter in self.parameters().rev().filter(|parameter| is_hidden(&parameter.name)) {
            hidden.replace_range(parameter.at.clone(), HIDDEN);
        }
        hidden
    }
}

/// Could a parameter of libpq's be called so? A piece of a password that was not quoted often could not.
pub fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// What `require_auth` may allow, without a password in clear text. None: it allows nothing else.
pub fn without_clear_text(methods: &str) -> Option<String> {
    let (given, refused) = ("password", "!password");
    let others = methods.split(',').filter(|method| ![given, refused].contains(&method.trim()));
    let refused = methods.contains('!').then_some(refused);
    Some(others.chain(refused).collect::<Vec<_>>().join(",")).filter(|methods| !methods.is_empty())
}

/// Adds a parameter to a connection string, which counts whatever was there before.
pub fn with(text: &str, name: &str, value: &str) -> String {
    let Some(rest) = rest_of_uri(text) else {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        return format!("{text} {name}='{value}'").trim_start().to_owned();
    };
    let separator = match credentials_of(rest).1.split_once('?') {
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
        None => "?",
    };
    format!("{text}{separator}{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
}

fn place(host: &str) -> ServerPlace {
    match host.parse::<IpAddr>() {
        // An empty one among several is the socket that libpq looks for by itself.
        Err(_) if host.is_empty() || host.starts_with(['/', '@']) => ServerPlace::Socket,
        Err(_) if host == "localhost" => ServerPlace::Loopback,
        Ok(address) if address.is_loopback() => ServerPlace::Loopback,
        Ok(_) | Err(_) => ServerPlace::Remote,
    }
}

/// What stands behind the scheme of a URI. Pairs may have a `://` as well, in a value.
fn rest_of_uri(text: &str) -> Option<&str> {
    ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme))
}

/// `user:password@host:port,host:port/database?name=value&name=value`
fn of_uri(uri: &str, rest: &str) -> Option<Vec<Parameter>> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let parameter =
        |name: &str, value: &str| Parameter { name: decoded(name), value: decoded(value), at: range_in(uri, value) };
    let (credentials, rest) = credentials_of(rest);
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let credentials = [("user", user), ("password", password)].into_iter().filter(|(_, value)| !value.is_empty());
    let (servers, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (hosts, ports): (Vec<&str>, Vec<Option<&str>>) = servers.split(',').map(host_and_port).unzip();
    let host = Parameter { value: decoded(&hosts.join(",")), ..parameter("host", servers) };
    // One for each host, with an empty one where none is named.
    let ports = ports.iter().any(Option::is_some).then(|| Parameter {
        value: decoded(&ports.iter().map(|port| port.unwrap_or_default()).collect::<Vec<_>>().join(",")),
        ..parameter("port", servers)
    });
    let (database, query) = path.split_once('?').unwrap_or((path, ""));
    let database = database.strip_prefix('/').filter(|database| !database.is_empty());
    let query = query.strip_suffix('&').unwrap_or(query);
    let pairs = query.split('&').filter(|_| !query.is_empty()).map(|pair| match pair.split_once('=')? {
        (_, value) if value.contains('=') => None,
        ("ssl", "true") => Some(Parameter { value: "require".to_owned(), ..parameter("sslmode", "") }),
        (name, value) => Some(parameter(name, value)),
    });
    let credentials = credentials.map(|(name, value)| parameter(name, value));
    let database = database.map(|database| parameter("dbname", database));
    credentials.chain([host]).chain(ports).chain(database).map(Some).chain(pairs).collect()
}

/// What stands before the first `@`, if no `/` stands before it: a password may have a question mark of its own.
fn credentials_of(rest: &str) -> (&str, &str) {
    rest.split_once('@').filter(|(credentials, _)| !credentials.contains('/')).unwrap_or(("", rest))
}

fn host_and_port(server: &str) -> (&str, Option<&str>) {
    match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, behind)) => (address, behind.strip_prefix(':')),
        None => server.split_once(':').map_or((server, None), |(host, port)| (host, Some(port))),
    }
}

/// `name=value name = 'value'`
fn of_pairs(text: &str) -> Option<Vec<Parameter>> {
    let mut parameters = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let (name, behind) = (name.trim_end_matches(is_space), behind.trim_start_matches(is_space));
        let (length, value) = first_value(behind)?;
        let (written, behind) = behind.split_at(length);
        parameters.push(Parameter { name: name.to_owned(), value, at: range_in(text, written) });
        rest = behind.trim_start_matches(is_space);
    }
    Some(parameters)
}

/// How long the first value is, and what it says. None: its quote has no end.
fn first_value(text: &str) -> Option<(usize, String)> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if is_quoted => return Some((at + 1, value)),
            _ if !is_quoted && is_space(character) => return Some((at, value)),
            _ => value.push(character),
        }
    }
    (!is_quoted).then_some((text.len(), value))
}

/// Is it a space to C?
fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\x0b'
}

fn range_in(whole: &str, part: &str) -> Range<usize> {
    let begin = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    begin..begin + part.len()
}

#[cfg(test)]
mod tests;
