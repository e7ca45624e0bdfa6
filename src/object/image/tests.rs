//! The references that v1's own tests name, the quirks, and what holds for any text.

use proptest::prelude::*;

use super::*;

#[test]
fn names_have_one_canonical_form() {
    for (text, domain, path, canonical) in [
        ("alpine", "", "alpine", "index.docker.io/library/alpine"),
        ("library/alpine", "", "library/alpine", "index.docker.io/library/alpine"),
        ("alpine:mytag", "", "alpine", "index.docker.io/library/alpine"),
        ("docker.io/alpine", "docker.io", "alpine", "index.docker.io/library/alpine"),
        ("docker.io/library/alpine", "docker.io", "library/alpine", "index.docker.io/library/alpine"),
        ("index.docker.io/weaveworks/web:1", "index.docker.io", "weaveworks/web", "index.docker.io/weaveworks/web"),
        ("localhost/hello:v1.1", "localhost", "hello", "localhost/hello"),
        ("localhost:5000/hello:v1.1", "localhost:5000", "hello", "localhost:5000/hello"),
        ("example.com/hello:v1.1", "example.com", "hello", "example.com/hello"),
        ("quay.io/library/alpine", "quay.io", "library/alpine", "quay.io/library/alpine"),
        ("quay.io/library/alpine:mytag", "quay.io", "library/alpine", "quay.io/library/alpine"),
        (
            "localhost:5000/path/to/repo/alpine:mytag",
            "localhost:5000",
            "path/to/repo/alpine",
            "localhost:5000/path/to/repo/alpine",
        ),
        ("kennethreitz/httpbin@sha256:b45b5d", "", "kennethreitz/httpbin", "index.docker.io/kennethreitz/httpbin"),
        // three elements: the first is a domain, whatever it looks like
        ("one/two/three", "one", "two/three", "one/two/three"),
        // a host without a dot and two elements is no host
        ("host:5000/img", "", "host", "index.docker.io/library/host"),
        ("my.host/img", "my.host", "img", "my.host/img"),
        ("a./img", "", "a./img", "index.docker.io/a./img"),
    ] {
        let image: ImageRef = text.parse().unwrap();
        assert_eq!((image.name.domain.as_str(), image.name.path.as_str()), (domain, path), "{text}");
        assert_eq!(image.canonical().to_string(), canonical, "{text}");
        assert_eq!(image.to_string(), text);
        assert_eq!(image.full(), text);
    }
    assert_eq!("host:5000/img".parse::<ImageRef>().unwrap().tag, "5000/img");
}

#[test]
fn refusals_are_in_the_words_of_v1() {
    let malformed = "expected image name as either <image>:<tag> or just <image>: invalid image ID";
    for (text, want) in [
        ("", "parsing \"\": blank image name: invalid image ID".to_owned()),
        ("/leading/slash", format!("parsing \"/leading/slash\": {malformed}")),
        ("trailing/slash/", format!("parsing \"trailing/slash/\": {malformed}")),
        (":tag", format!("parsing \":tag\": {malformed}")),
        ("alpine:", format!("parsing \"alpine:\": {malformed}")),
        ("a:b:c", malformed.to_owned()),
        ("alpine@sha256:", format!("parsing \"alpine@sha256:\": {malformed}")),
        ("alpine@sha256:no-hex", format!("parsing \"alpine@sha256:no-hex\": {malformed}")),
    ] {
        assert_eq!(text.parse::<ImageRef>().unwrap_err().to_string(), want, "{text}");
    }
}

#[test]
fn the_short_form_of_a_pinned_image_has_no_tag_and_the_full_one_has_both() {
    let image: ImageRef = "quay.io/a/b:1.2@sha256:00ff".parse().unwrap();
    assert_eq!((image.tag.as_str(), image.digest.as_deref()), ("1.2", Some("sha256:00ff")));
    assert_eq!(image.to_string(), "quay.io/a/b@sha256:00ff");
    assert_eq!(image.full(), "quay.io/a/b:1.2@sha256:00ff");
    assert_eq!(image.with_tag("1.3").full(), "quay.io/a/b:1.3");
    assert_eq!(image.with_tag("1.3").with_digest(Some("sha256:11".into())).full(), "quay.io/a/b:1.3@sha256:11");
}

#[test]
fn references_are_plain_strings_in_json() {
    let image: ImageRef = serde_json::from_str("\"example.org/web:2.1\"").unwrap();
    assert_eq!(serde_json::to_string(&image).unwrap(), "\"example.org/web:2.1\"");
    assert!(serde_json::from_str::<ImageRef>("\"\"").is_err());
}

proptest! {
    #[test]
    fn what_is_read_is_written_the_same(text in "[a-z./:@-]{0,12}(@sha256:[0-9a-f]{0,4})?") {
        if let Ok(image) = text.parse::<ImageRef>() {
            prop_assert_eq!(image.full(), text);
            prop_assert_eq!(image.full().parse::<ImageRef>().unwrap(), image);
        }
    }

    #[test]
    fn another_tag_keeps_the_spelling(name in "([a-z]{1,5}(\\.[a-z]{2,3})?/){0,3}[a-z]{1,8}", tag in "[a-zA-Z0-9_.-]{1,12}") {
        let image: ImageRef = name.parse().unwrap();
        let tagged = image.with_tag(tag.clone());
        prop_assert_eq!(tagged.to_string(), format!("{name}:{tag}"));
        prop_assert_eq!(tagged.canonical(), image.canonical());
        prop_assert_eq!(tagged.to_string().parse::<ImageRef>().unwrap(), tagged);
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in ".{0,40}") {
        if let Err(refusal) = text.parse::<ImageRef>() {
            prop_assert!(refusal.to_string().ends_with("invalid image ID"));
        }
    }
}
