//! What goes over the wire: a document with its ETag, and the headers that keep it in its place; and the files of the
//! page: its style sheet, and an icon for each state.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    REFRESH, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use sha2::{Digest, Sha256};

use super::chart::Mark;

/// How often a page refreshes itself. A header does it: an element would be one that assistive programs cannot stop,
/// and there is no script.
pub const REFRESH_SECONDS: u32 = 30;

/// Nothing but our own style and pictures, in no frame, with nowhere to send anything to.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// How a document may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Asked for again each time, with its ETag.
    Checked,
    /// Its address changes with its content.
    Forever,
    /// Kept by nobody: it says that something is wrong.
    Never,
}

/// What a request is answered with.
#[derive(Clone, Debug)]
pub struct PageDocument {
    pub status: StatusCode,
    pub media_type: &'static str,
    pub body: String,
    pub caching: Caching,
    pub refreshes: bool,
}

impl PageDocument {
    pub fn html(body: String, refreshes: bool) -> PageDocument {
        let (status, caching) = (StatusCode::OK, Caching::Checked);
        PageDocument { status, media_type: "text/html; charset=utf-8", body, caching, refreshes }
    }

    pub fn text((status, words): (StatusCode, &str)) -> PageDocument {
        let (media_type, caching) = ("text/plain; charset=utf-8", Caching::Never);
        PageDocument { status, media_type, body: words.to_owned(), caching, refreshes: false }
    }

    /// The answer to a request of this method with these headers. A page is as of the minute that stands on it: when
    /// nothing else has changed since the browser got it, what it still shows is true.
    pub fn answer(self, method: &Method, asked: &HeaderMap) -> Response {
        let etag = format!("\"{:.32}\"", hex(&Sha256::digest(&self.body)));
        let is_known = self.caching == Caching::Checked
            && asked.get_all(IF_NONE_MATCH).iter().any(|known| {
                let known = known.to_str().unwrap_or_default().split(',');
                known.map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == etag)
            });
        let (status, body) =
            if is_known { (StatusCode::NOT_MODIFIED, String::new()) } else { (self.status, self.body) };
        let length = body.len();
        let mut response = Response::new(if method == Method::HEAD { Body::empty() } else { Body::from(body) });
        *response.status_mut() = status;
        let headers = response.headers_mut();
        guard(headers);
        let mut set = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        match self.caching {
            Caching::Checked => set(CACHE_CONTROL, "private, no-cache"),
            Caching::Forever => set(CACHE_CONTROL, "private, max-age=31536000, immutable"),
            Caching::Never => set(CACHE_CONTROL, "no-store"),
        }
        if self.caching == Caching::Checked {
            set(ETAG, &etag);
        }
        if self.refreshes {
            set(REFRESH, &REFRESH_SECONDS.to_string());
        }
        if !is_known {
            set(CONTENT_TYPE, self.media_type);
            set(CONTENT_LENGTH, &length.to_string());
        }
        match status {
            StatusCode::METHOD_NOT_ALLOWED => set(ALLOW, "GET, HEAD"),
            StatusCode::UNAUTHORIZED => set(WWW_AUTHENTICATE, "Basic realm=\"sweep\", charset=\"UTF-8\""),
            _ => {}
        }
        response
    }
}

fn guard(headers: &mut HeaderMap) {
    const GUARDS: [(HeaderName, &str); 5] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const STYLE: &str = include_str!("templates/style.css");

const STYLE_PATH: &str = "/style.css";

/// The address of the style sheet. It changes with the content, so that browsers may keep it.
pub fn style_address() -> &'static str {
    static ADDRESS: LazyLock<String> =
        LazyLock::new(|| format!("{STYLE_PATH}?{:.16}", hex(&Sha256::digest(STYLE.as_bytes()))));
    &ADDRESS
}

/// The file of the page that has this path.
pub fn file(path: &str) -> Option<PageDocument> {
    let file = |media_type, body: String, caching| {
        Some(PageDocument { status: StatusCode::OK, media_type, body, caching, refreshes: false })
    };
    if path == STYLE_PATH {
        return file("text/css; charset=utf-8", STYLE.to_owned(), Caching::Forever);
    }
    let name = path.strip_prefix("/icons/")?.strip_suffix(".svg")?;
    let mark = Mark::ALL.iter().find(|mark| mark.name() == name)?;
    file("image/svg+xml", mark.icon(), Caching::Checked)
}
