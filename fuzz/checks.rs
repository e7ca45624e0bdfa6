//! What must hold for any bytes, for each reader of text from outside. The fuzz targets call these, and so does
//! `tests/fuzz_corpus.rs`.

use std::collections::BTreeMap;

use fluxd::api::{duration, inventory};
use fluxd::generate::Config;
use fluxd::generate::smp::{self, PatchKind};
use fluxd::generate::sops::{self, SopsKeys};
use fluxd::object::image::ImageRef;
use fluxd::object::pattern::{Candidate, Pattern};
use fluxd::object::semver::{Constraint, Version};
use fluxd::object::workload::{self, AnnotationChange, FieldChange, Step};
use fluxd::object::yaml::edit::{self, ObjectEdit, Op};
use fluxd::object::yaml::{self, Dialect, Limits};
use fluxd::object::{Gvk, Object, Origin};
use fluxd::provider;
use fluxd::provider::schedule::{ScheduleSpec, Schedules};
use fluxd::registry::Credentials;
use fluxd::registry::protocol::{self, Manifest};
use fluxd::report;
use fluxd::runtime::Stop;
use fluxd::serve::receivers::{Source, changes};
use fluxd::source::git;
use serde_json::Value;

/// Small enough that a run which keeps to them is fast.
const LIMITS: Limits = Limits { bytes: 1 << 16, documents: 200, depth: 40, nodes: 20_000 };

/// A key that was thrown away; some files of the corpus are encrypted for it.
const AGE_KEY: &str = include_str!("../tests/data/sops/age-key.txt");

/// Documents come back as they were read when they are written, in both dialects.
pub fn loader(data: &[u8]) {
    for dialect in [Dialect::Kubernetes, Dialect::Kustomize] {
        let Ok(documents) = yaml::read(data, dialect, &LIMITS) else { continue };
        assert!(documents.len() <= LIMITS.documents);
        for document in documents {
            assert!(document.line >= 1);
            let written = yaml::write(&document.value);
            let roomy = Limits { bytes: usize::MAX / 4, ..Limits::default() };
            let again = yaml::read(written.as_bytes(), dialect, &roomy).unwrap_or_else(|e| panic!("{e}\n{written}"));
            assert_eq!(again[0].value, document.value, "{written}");
        }
    }
}

/// A configuration is read or refused in words.
pub fn flux_yaml(data: &[u8]) {
    if let Err(refusal) = Config::parse(data, &LIMITS) {
        assert!(!refusal.to_string().is_empty());
    }
}

/// Every URL equals itself; a password in an ordinary one is never shown.
pub fn git_url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert!(git::equivalent(text, text));
    assert!(!git::v1_url(text).is_empty());
    let host: String = text.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
    let url = format!("https://user:hunter2@{host}.example.com/{host}");
    for shown in [git::sanitise_url(&url), git::redact(&format!("{host} {url}"))] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

/// A merge patch made from two versions turns one into the other; any patch is applied or refused.
pub fn patch(data: &[u8]) {
    let Ok(documents) = yaml::read(data, Dialect::Kubernetes, &LIMITS) else { return };
    let mut values = documents.into_iter().map(|document| document.value);
    let (Some(original), Some(other)) = (values.next(), values.next()) else { return };
    let text = |field: &str| original.get(field).and_then(Value::as_str).unwrap_or_default();
    let gvk = Gvk::new(text("apiVersion"), text("kind"));
    let applied = smp::apply(&gvk, &original, &other);
    let made = smp::create(&gvk, &original, &other);
    let mappings = original.is_object() && other.is_object();
    if smp::patch_kind(&gvk) == PatchKind::JsonMerge && mappings && !has_null(&other) {
        let made = made.expect("a merge patch of two mappings can be made");
        let again = smp::apply(&gvk, &original, &made).expect("it can be applied");
        assert_eq!(again, other);
    }
    drop(applied);
}

/// What the patch maker writes for a change leads from the generated object to the changed one, and is the same when it
/// is made again from there.
pub fn patch_maker(data: &[u8]) {
    let Ok(documents) = yaml::read(data, Dialect::Kubernetes, &LIMITS) else { return };
    let mut values = documents.into_iter().map(|document| document.value);
    let (Some(generated), Some(patch)) = (values.next(), values.next()) else { return };
    let text = |field: &str| generated.get(field).and_then(Value::as_str).unwrap_or_default();
    let gvk = Gvk::new(text("apiVersion"), text("kind"));
    let Ok(wanted) = smp::apply(&gvk, &generated, &patch) else { return };
    let Ok(made) = smp::create(&gvk, &generated, &wanted) else { return };
    let Ok(first) = smp::apply(&gvk, &generated, &made) else { return };
    let Ok(again) = smp::create(&gvk, &generated, &first) else { return };
    let second = smp::apply(&gvk, &generated, &again).expect("what was made can be applied");
    assert_eq!(first, second, "{made}");
}

/// An edit of any scalar and any annotation reads as intended and leaves all other objects alone, or is refused.
pub fn editor(data: &[u8]) {
    let Ok(documents) = yaml::read(data, Dialect::Kubernetes, &LIMITS) else { return };
    let Some(value) = documents.iter().map(|d| &d.value).find(|v| v["metadata"]["name"].is_string()) else { return };
    let Some(object) = read_object(value) else { return };
    let mut paths = Vec::new();
    scalars(value, &mut Vec::new(), &mut paths);
    let seed = data.iter().fold(data.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    let text = |at: usize| EDIT_TEXTS[(seed >> at) % EDIT_TEXTS.len()].to_owned();
    let mut ops = Vec::new();
    if !paths.is_empty() && seed & 1 == 0 {
        ops.push(Op::Set(FieldChange { path: paths[(seed >> 8) % paths.len()].clone(), value: text(3) }));
    }
    for (at, key) in ["fluxcd.io/automated", "a", "c"].iter().enumerate().filter(|(at, _)| seed >> (at + 1) & 1 == 0) {
        let value = (seed >> (at + 5) & 1 == 0).then(|| text(at + 7));
        ops.push(Op::Annotate(AnnotationChange { key: (*key).to_owned(), value }));
    }
    let edits = [ObjectEdit { id: object.id(), ops }];
    let Ok(done) = edit::edit(data, &edits, &LIMITS) else { return };
    assert_eq!(done.changed[0], done.bytes != data);
    let roomy = Limits { bytes: 1 << 17, nodes: 40_000, ..LIMITS };
    let after = yaml::read(&done.bytes, Dialect::Kubernetes, &roomy).expect("the result can be read");
    assert_eq!(documents.len(), after.len());
    let differing = documents.iter().zip(&after).filter(|(a, b)| a.value != b.value);
    for (before, after) in differing {
        let mut wanted = before.value.clone();
        if before.value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) {
            continue;
        }
        edits[0].ops.iter().for_each(|op| edit::change(&mut wanted, op).expect("what was edited can be changed"));
        assert_eq!(wanted, after.value);
    }
}

/// Texts that are hard to write, among ordinary ones.
const EDIT_TEXTS: [&str; 10] =
    ["a:2", "true", "1.0", "", "a: b # c", "it's \"x\"", "two\nlines", "- x", "\u{feff}\t", "glob:*"];

fn read_object(value: &Value) -> Option<Object> {
    Object::new(value, Origin { file: "x".into(), line: 1, generated: false }).ok()
}

/// The paths of all scalars.
fn scalars(value: &Value, at: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    let below: Vec<(Step, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (Step::key(key), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(index, value)| (Step::Index(index), value)).collect(),
        _ => return found.push(at.clone()),
    };
    for (step, value) in below {
        at.push(step);
        scalars(value, at, found);
        at.pop();
    }
}

/// An encrypted file is opened or refused, and only text comes out.
pub fn sops(data: &[u8]) {
    let env = BTreeMap::from([("PATH".into(), "/nonexistent".into())]);
    let keys = SopsKeys { age: AGE_KEY.into(), pgp: Vec::new(), env };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    if let Ok(Some(plain)) = runtime.block_on(sops::decrypt(data, &keys, &Stop::new())) {
        assert!(std::str::from_utf8(&plain).is_ok());
    }
}

/// A reference is written as it was read; another tag changes nothing else.
pub fn image(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let image: ImageRef = match text.parse() {
        Ok(image) => image,
        Err(refusal) => return assert!(refusal.to_string().ends_with("invalid image ID")),
    };
    assert_eq!(image.full(), text);
    // A slash in a tag counts when the domain is looked for, as in v1, and the short form has no tag beside a digest.
    if image.digest.is_none() || !image.tag.contains('/') {
        let short = image.to_string().parse::<ImageRef>();
        assert_eq!(short.map(|short| short.canonical()), Ok(image.canonical()), "{text:?}");
    }
    let tagged = image.with_tag("v1");
    assert_eq!((tagged.name, tagged.tag.as_str()), (image.name, "v1"));
}

/// The first line is a pattern, the others are tags: each pair has one order, and what is admitted matches.
pub fn pattern(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines().take(20);
    let pattern = Pattern::parse(lines.next().unwrap_or_default());
    assert_eq!(Pattern::parse(&pattern.to_string()), pattern);
    let tags: Vec<String> = lines.map(str::to_owned).collect();
    for tag in pattern.select(&tags) {
        assert!(pattern.matches(tag));
        for other in &tags {
            let (a, b) = (Candidate { tag, created: None }, Candidate { tag: other, created: None });
            assert_eq!(pattern.newer(&a, &b), pattern.newer(&b, &a).reverse());
            assert_eq!(pattern.newer(&a, &b).is_eq(), tag == other);
        }
    }
}

/// The first line is a constraint, the others are versions: `!=` is the opposite of `=`, and `||` adds.
pub fn semver(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines().take(20);
    let first = lines.next().unwrap_or_default();
    let constraint = Constraint::parse(first);
    for text in lines {
        let Some(version) = Version::parse(text) else { continue };
        assert!(version.cmp_precedence(&version).is_eq());
        let same = Constraint::parse(&format!("={text}")).expect("a version is a constraint");
        let other = Constraint::parse(&format!("!={text}")).expect("a version is a constraint");
        assert!(same.matches(&version) && !other.matches(&version), "{text:?} {same:?} {other:?} {version:?}");
        if let (Ok(constraint), Ok(either)) = (&constraint, Constraint::parse(&format!("{first}||={text}"))) {
            assert!(either.matches(&version), "{first} {text}");
            assert!(constraint.matches(&version) || !first.is_empty(), "{first} {text}");
        }
    }
}

/// An image that is written to the fields of a container is read back from them; no other container changes.
pub fn workload(data: &[u8]) {
    let Ok(documents) = yaml::read(data, Dialect::Kubernetes, &LIMITS) else { return };
    for object in documents.into_iter().map(|document| document.value) {
        let before = workload::containers(&object);
        for container in &before {
            let Ok(image) = &container.image else { continue };
            let new = image.with_tag("fuzzed");
            let Ok(changes) = workload::image_changes(&object, &container.name, &new) else { continue };
            let mut after = object.clone();
            for change in changes {
                *at(&mut after, &change.path) = Value::String(change.value);
            }
            let found = workload::containers(&after);
            let read = found.iter().find(|c| c.name == container.name).expect("the container is still there");
            assert_eq!(read.image.as_ref().map(ImageRef::full), Ok(new.full()), "{object}");
        }
    }
}

fn at<'a>(value: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(value, |at, step| match step {
        Step::Key(key) => at.get_mut(key).expect("the path exists"),
        Step::Index(index) => at.get_mut(*index).expect("the path exists"),
    })
}

/// Schedules trigger when they say and are found again from there; answers of hosts are read or refused in words that repeat
/// nothing secret.
pub fn provider(data: &[u8]) {
    match provider::read_refs(data) {
        Ok(refs) => {
            let hashes = refs.branches.iter().chain(&refs.tags).map(|(_, hash)| hash);
            assert!(hashes.into_iter().all(|hash| matches!(hash.len(), 40 | 64)));
        }
        Err(refusal) => assert!(!refusal.is_empty() && refusal.len() < 200),
    }
    match provider::read_inputs(data) {
        Ok(sets) => assert!(sets.iter().all(|set| set["id"].is_string())),
        Err(refusal) => assert!(!refusal.is_empty()),
    }
    provider::read_answers(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (cron, time_zone) = text.trim_end().split_once('|').unwrap_or((text.trim_end(), "UTC"));
    let spec = ScheduleSpec { cron: cron.to_owned(), time_zone: time_zone.to_owned(), window: "1h".to_owned() };
    let Ok(schedules) = Schedules::parse(&[spec], std::time::Duration::from_secs(60)) else { return };
    let now: jiff::Timestamp = "2025-03-05T09:10:11Z".parse().expect("a time");
    let Some(next) = schedules.next(now) else { return };
    assert!(next.when > now);
    assert!(schedules.may_run(next.when), "{cron}: a window opens when it triggers");
}

/// What registries say is read or refused in words; nothing is taken over that could lead a request elsewhere.
pub fn registry(data: &[u8]) {
    let is_digest = |text: &str| text.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64);
    if let Ok(tags) = protocol::read_tags(data) {
        assert!(tags.iter().all(|tag| tag.len() <= protocol::MAX_TAG && !tag.contains(['/', '?', '#', '%'])));
    }
    for kind in ["", "application/vnd.docker.distribution.manifest.v1+prettyjws"] {
        match protocol::read_manifest(kind, data) {
            Ok(Manifest::Index(child)) => assert!(is_digest(&child.digest)),
            Ok(Manifest::Image { config, .. }) => assert!(config.is_none_or(|config| is_digest(&config.digest))),
            Ok(Manifest::Inline { .. }) => {}
            Ok(Manifest::Excluded(reason)) | Err(reason) => assert!(!reason.is_empty()),
        }
        assert!(is_digest(&protocol::digest_of(kind, data)));
    }
    drop(protocol::read_config(data));
    if let Ok(token) = protocol::read_token(data) {
        assert!(token.value.bytes().all(|b| b.is_ascii_graphic()));
    }
    let refusal = protocol::read_refusal(403, data, None).to_string();
    assert!(!refusal.is_empty() && refusal.len() < 4096 && !refusal.contains('\n'));
    drop(Credentials::parse(data, "a secret"));
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert!(protocol::read_challenges(text).len() <= 16);
    let here: url::Url = "https://registry.example/v2/a/tags/list".parse().expect("a URL");
    if let Ok(Some(next)) = protocol::next_page(&here, text) {
        assert_eq!(next.origin(), here.origin());
    }
}

/// What the API takes is read or refused in words, and what was read is written so that it reads the same.
pub fn api_json(data: &[u8]) {
    if let Ok(value) = report::first_value(data)
        && let Ok(spec) = report::decode_update(&value)
    {
        let written = serde_json::to_value(&spec).expect("a specification can be written");
        assert_eq!(report::decode_update(&written).expect("and read again"), spec, "{written}");
    }
    match report::decode_change(data) {
        Ok(change) => {
            let written = report::go_json(&change).expect("a notification can be written");
            assert_eq!(report::decode_change(&written).expect("and read again"), change);
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
    if let Ok(note) = report::decode_note(data) {
        let written = report::go_json(&note).expect("a note can be written");
        assert_eq!(report::decode_note(&written).expect("and read again"), note);
    }
}

/// A webhook means a bounded number of changes, or is refused in words. The first line names its source and event.
pub fn webhook(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (line, body) = (String::from_utf8_lossy(&data[..end]), data.get(end + 1..).unwrap_or_default());
    let (source, event) = line.split_once(' ').unwrap_or((&line, ""));
    let Ok(source) = serde_json::from_value::<Source>(source.into()) else { return };
    let mut headers = http::HeaderMap::new();
    for name in ["x-github-event", "x-gitlab-event", "x-gitea-event", "x-event-key", "x-nexus-webhook-id"] {
        if let Ok(event) = event.parse() {
            headers.insert(name, event);
        }
    }
    match changes(source, &headers, body, "hub.example.org") {
        Ok(changes) => assert!(changes.len() <= 100),
        Err(refusal) => assert!(!refusal.to_string().is_empty() && refusal.to_string().len() < 1_000),
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

/// Whatever a daemon answers, fluxctl shows it in lines, shows no value of a secret, and writes into no directory but the
/// one it was told.
pub fn answers(data: &[u8]) {
    use fluxd::client::show::{self, Paint, Table, Verbosity};
    use fluxd::client::{List, Menu, Workload, WorkloadImages, WorkloadResult, split_export};

    let table = Table { headers: true, wide: true };
    if let Ok(list) = serde_json::from_slice::<List<Workload>>(data) {
        let list = show::with_container(list, "");
        let _shown = show::workloads(list.items.iter().map(|raw| &raw.value), table);
        list.items.iter().for_each(|raw| assert!(show::rollout(&raw.value).ends_with("\n\n")));
    }
    if let Ok(list) = serde_json::from_slice::<List<WorkloadImages>>(data) {
        let all: Vec<_> = list.items.iter().map(|raw| &raw.value).collect();
        for limit in [0, 1] {
            assert!(show::images(&all, limit, table).ends_with('\n'));
        }
        let _cut = show::cut_available(list, 1).map(|list| show::json_list(&list));
    }
    if let Ok(results) = serde_json::from_slice::<std::collections::BTreeMap<String, WorkloadResult>>(data) {
        assert!(show::results(&results, Verbosity::Ignored).ends_with('\n'));
        let menu = Menu::new(&results, Verbosity::Ignored);
        assert!(menu.text(1).ends_with('\n') && menu.is_empty() == menu.taken().is_empty());
    }
    if let Ok(mut plan) = serde_json::from_slice(data) {
        show::mask(&mut plan);
        assert!(show::plan(&plan, Paint(false)).ends_with(".\n"));
    }
    if let Ok(objects) = serde_json::from_slice(data) {
        let _tree = show::tree(&objects, Paint(true));
    }
    for saved in split_export(data).unwrap_or_default() {
        let path = saved.path.unwrap_or_default();
        assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))), "{path:?}");
    }
}

/// Any text is a template or an error, any template renders within its limits or says which one it met, and errors say
/// where they are.
pub fn template(data: &[u8]) {
    use fluxd::template::{Engine, EngineSettings, Inputs, Limits, Value as Root};

    let Ok(text) = std::str::from_utf8(data) else { return };
    let limits = Limits { steps: 20_000, output_bytes: 1 << 20, ..Limits::default() };
    let engine = Engine::new(EngineSettings { limits, ..EngineSettings::resource_set() });
    let inputs =
        serde_json::json!({"s": "text", "i": 3, "f": 1.5, "l": ["a", 1, null], "m": {"k": "v", "n": {"d": true}}});
    let inputs = inputs.as_object().map(Inputs::new);
    match engine.parse(text).and_then(|template| template.render(&Root::Nil, inputs.as_ref())) {
        Ok(output) => assert!(output.len() <= 3 << 20),
        Err(error) => assert!(error.to_string().starts_with("template: resourceset:"), "{error}"),
    }
}

/// What is written as YAML reads as it was.
pub fn emit(data: &[u8]) {
    use fluxd::object::yaml::{self, Dialect, Limits};

    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    for text in [yaml::emit(&value), yaml::emit_unfolded(&value)] {
        // The merge key is written without quotes, there as here, and a key that is nothing cannot be read.
        if text.contains("<<") || text.contains('\u{feff}') {
            continue;
        }
        match yaml::read(text.as_bytes(), Dialect::Kubernetes, &Limits::default()) {
            Ok(documents) => assert_eq!(yaml::emit(&documents[0].value), yaml::emit(&value), "{text:?}"),
            Err(error) => {
                assert!(error.message.contains("deep") || error.message.contains("nest"), "{text:?}: {error}")
            }
        }
    }
}

/// An expression is parsed or refused without using up the stack, and evaluated or refused in a bounded number of steps. The
/// text may be followed, after a line of its own, by the object that it is about.
pub fn expression(data: &[u8]) {
    use fluxd::controllers::resourceset::expression::{Expression, visible};

    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, object) = text.split_once("\n====\n").unwrap_or((text, "{}"));
    let Ok(expression) = Expression::parse(text) else { return };
    let object = serde_json::from_str(object).unwrap_or_default();
    let object = visible(object, "own");
    assert_eq!(expression.evaluate(&object), expression.evaluate(&object), "the same every time");
}

/// A kubeconfig gives an address and an authority that are not empty, or an error that shows none of its values.
pub fn kubeconfig(data: &[u8]) {
    match fluxd::controllers::resourceset::transform::extract(data) {
        Ok(cluster) => assert!(!cluster.address.is_empty() && !cluster.ca.is_empty()),
        Err(error) => assert!(!error.contains("hunter2"), "{error}"),
    }
}

/// Each line as an identity of an inventory and as a duration: what is understood is written so that it is understood again.
pub fn status_words(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for line in text.lines().take(100) {
        if let Ok(key) = inventory::parse(line) {
            let again = inventory::parse(&inventory::entry_id(&key));
            // Names of Kubernetes objects have no underscores; with them, not every colon can be told.
            assert!(key.name.contains('_') || again.as_ref() == Ok(&key), "{line:?}");
        }
        if let Some(read) = duration::positive(line) {
            assert_eq!(duration::positive(&duration::format(read)), Some(read), "{line:?}");
            assert!(
                duration::positive(&duration::rounded(read)).is_some() || read.as_secs() > 9_000_000_000,
                "{line:?}"
            );
        }
    }
}
