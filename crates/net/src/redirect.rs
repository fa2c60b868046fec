//! Where a redirect leads, and what goes along. Pure.

use crate::ask::{Ask, bare};
use mainpath_tools::Problem;
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE,
    HeaderMap, LOCATION, USER_AGENT,
};
use reqwest::{Method, StatusCode};

/// What is sent on to another origin. Any other header may hold a secret.
const HARMLESS: [reqwest::header::HeaderName; 4] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];

/// What is asked next after such an answer; `None` if it is no redirect. Methods and bodies follow the Fetch standard
/// (HTTP-redirect fetch, steps 12 to 14).
///
/// Errors: an address that is none, from https to http, or a body that would go to another origin.
pub(crate) fn next(ask: &Ask, status: StatusCode, headers: &HeaderMap) -> Result<Option<Ask>, Problem> {
    let Some(location) = headers.get(LOCATION).filter(|_| matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308))
    else {
        return Ok(None);
    };
    let from = bare(&ask.url);
    let refused = |why: String| Problem::new("redirect", format!("{from} {why}."));
    let parsed = location.to_str().ok().and_then(|text| ask.url.join(text).ok());
    let Some(mut url) = parsed else { return Err(refused("redirects to something that is not an address".into())) };
    url.set_fragment(None);
    if ask.url.scheme() == "https" && url.scheme() == "http" {
        return Err(refused(format!("redirects from https to http, to {}; that is not followed", bare(&url))));
    }
    let mut then = Ask { url, ..ask.clone() };
    let to_get = match status.as_u16() {
        301 | 302 => ask.method == Method::POST,
        303 => ask.method != Method::HEAD,
        _ => false,
    };
    if to_get {
        then.method = Method::GET;
        then.body = None;
        for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_LENGTH] {
            then.headers.remove(name);
        }
    }
    if then.url.origin() != ask.url.origin() {
        if then.body.is_some() {
            return Err(refused(format!("would have the body sent on to another place, {}", bare(&then.url))));
        }
        let kept = then.headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
        then.headers = kept.filter(|(name, _)| HARMLESS.contains(name)).collect();
    }
    Ok(Some(then))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Url;
    use reqwest::header::HeaderValue;

    fn ask(method: Method, url: &str, headers: &[(&'static str, &'static str)], body: Option<&'static str>) -> Ask {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
        Ask { method, url: Url::parse(url).unwrap(), headers, body: body.map(Into::into) }
    }

    type Told = Result<Option<(String, String, Vec<String>, bool)>, String>;

    fn after(ask: &Ask, status: u16, location: &str) -> Told {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_bytes(location.as_bytes()).unwrap())]);
        let told = next(ask, StatusCode::from_u16(status).unwrap(), &headers).map_err(|problem| problem.text)?;
        Ok(told.map(|ask| {
            let mut names: Vec<String> = ask.headers.keys().map(ToString::to_string).collect();
            names.sort();
            (ask.method.to_string(), ask.url.to_string(), names, ask.body.is_some())
        }))
    }

    const SECRETS: [(&str, &str); 5] = [
        ("authorization", "Bearer x"),
        ("x-api-key", "k"),
        ("cookie", "c=1"),
        ("accept", "*/*"),
        ("content-type", "text/plain"),
    ];

    #[test]
    fn within_an_origin_everything_goes_along() {
        let get = ask(Method::GET, "https://a.test/x/y", &SECRETS[..4], None);
        let names = ["accept", "authorization", "cookie", "x-api-key"].map(String::from).to_vec();
        for status in [301, 302, 303, 307, 308] {
            assert_eq!(
                after(&get, status, "../z?q#f"),
                Ok(Some(("GET".into(), "https://a.test/z?q".into(), names.clone(), false)))
            );
        }
    }

    #[test]
    fn another_origin_gets_no_header_that_may_be_secret() {
        let get = ask(Method::GET, "https://a.test/", &SECRETS, None);
        for place in ["https://b.test/", "https://a.test:8443/", "https://sub.a.test/", "//b.test/"] {
            let (_, _, names, _) = after(&get, 302, place).unwrap().unwrap();
            assert_eq!(names, ["accept", "content-type"], "{place}");
        }
    }

    #[test]
    fn methods_and_bodies_change_as_the_standard_says() {
        let post = ask(Method::POST, "http://a.test/", &SECRETS[4..], Some("body"));
        let put = ask(Method::PUT, "http://a.test/", &SECRETS[4..], Some("body"));
        let told = |ask: &Ask, status| {
            after(ask, status, "/n").unwrap().map(|(method, _, names, body)| (method, names.len(), body))
        };
        let (get, kept) = (("GET".to_string(), 0, false), ("POST".to_string(), 1, true));
        assert_eq!(
            [301, 302, 303].map(|status| told(&post, status)),
            [Some(get.clone()), Some(get.clone()), Some(get.clone())]
        );
        assert_eq!([307, 308].map(|status| told(&post, status)), [Some(kept.clone()), Some(kept)]);
        let kept = ("PUT".to_string(), 1, true);
        assert_eq!([301, 302, 303].map(|status| told(&put, status)), [Some(kept.clone()), Some(kept), Some(get)]);
        let head = ask(Method::HEAD, "http://a.test/", &[], None);
        assert_eq!(told(&head, 303), Some(("HEAD".into(), 0, false)));
        assert_eq!([200, 300, 304, 404].map(|status| told(&post, status)), [None, None, None, None]);
    }

    #[test]
    fn what_must_not_go_on_does_not() {
        let post = ask(Method::POST, "https://a.test/p?key=1", &[], Some("body"));
        assert_eq!(
            after(&post, 307, "https://b.test/"),
            Err("https://a.test/p would have the body sent on to another place, https://b.test/.".into())
        );
        assert_eq!(
            after(&post, 303, "http://a.test/?k=2"),
            Err("https://a.test/p redirects from https to http, to http://a.test/; that is not followed.".into())
        );
        assert_eq!(
            after(&post, 303, "http://["),
            Err("https://a.test/p redirects to something that is not an address.".into())
        );
    }
}
