//! What users of the room rely on: limits, shared inputs, sets of templates, the embedder's functions. What templates
//! print is compared with Go in `tests/template_reference.rs`.

use std::sync::Arc;

use serde_json::json;

use super::*;

fn inputs(json: &serde_json::Value) -> Inputs {
    Inputs::new(json.as_object().unwrap())
}

fn rendered(text: &str) -> Result<String, TemplateError> {
    Engine::resource_set().parse(text)?.render(&Value::Nil, Some(&inputs(&json!({"a": 1, "m": {"k": "v"}}))))
}

/// The error of a template that meets a limit; few steps, so that debug builds are done soon.
fn limit_of(text: &str) -> String {
    let limits = Limits { steps: 100_000, ..Limits::default() };
    let engine = Engine::new(EngineSettings { limits, ..EngineSettings::resource_set() });
    let result = engine.parse(text).and_then(|template| template.render(&Value::Nil, None));
    match result {
        Err(TemplateError { kind: ErrorKind::Limit, message, .. }) => message,
        other => panic!("{text} should meet a limit, not {:.300?}", other),
    }
}

#[test]
fn an_error_tells_its_line_and_column() {
    let error = rendered("a\nbb << inputs.missing >>").unwrap_err();
    let message =
        "template: resourceset:2:6: executing \"resourceset\" at <inputs>: map has no entry for key \"missing\"";
    assert_eq!((error.to_string().as_str(), error.line, error.column), (message, 2, Some(6)));
    assert_eq!(error.kind, ErrorKind::Execute);
    let error = rendered("a\n<< nope >>").unwrap_err();
    assert_eq!(error.to_string(), "template: resourceset:2: function \"nope\" not defined");
    assert_eq!((error.line, error.column, error.kind), (2, None, ErrorKind::Parse));
}

#[test]
fn bombs_end_in_an_error_that_names_the_limit() {
    for bomb in [
        "<< repeat 1000000000 \"x\" >>",
        "<< range until 1000000000 >>x<< end >>",
        "<< range 1000000000000 >><< end >>",
        "<< seq 1 1000000000000 >>",
        "<< $x := \"aaaaaaaa\" >><< range 60 >><< $x = print $x $x >><< end >>",
        "<< $x := list 1 >><< range 60 >><< $x = concat $x $x >><< end >>",
        "<< $x := list 1 >><< range 60 >><< $x = list $x $x >><< end >><< $x >>",
        "<< $x := list 1 >><< range 60 >><< $x = list $x $x >><< end >><< toJson $x >>",
        "<< $x := list >><< $y := list >><< range 60 >><< $x = list $x $x >><< $y = list $y $y >><< end >><< eq 1 2 >><< deepEqual $x $y >>",
        "<< $x := dict >><< range 100000 >><< $x = dict \"a\" $x >><< end >><< toYaml $x >>",
        "<< indent 1000000000 \"a\\nb\" >>",
        "<< printf \"%1000000d%1000000d%1000000d\" 1 2 3 | repeat 100 >>",
        "<< replace \"\" (repeat 1000000 \"x\") (repeat 1000 \"y\") >>",
        "<< regexReplaceAll \"a\" (repeat 100000 \"a\") (repeat 10000 \"b\") >>",
        "<< define \"x\" >><< template \"x\" >><< end >><< template \"x\" >>",
        "<< define \"x\" >><< template \"x\" >><< template \"x\" >><< end >><< template \"x\" >>",
        "<< define \"x\" >><< if . >><< template \"x\" (sub . 1) >><< template \"x\" (sub . 1) >><< end >><< end >><< template \"x\" 60 >>",
        "<< regexMatch \"((a{100}){100}){100}\" \"a\" >>",
        "<< range 1000000 >><< regexMatch \"(a|b){900}\" \"ab\" >><< end >>",
    ] {
        assert!(limit_of(bomb).contains("limit of "), "{bomb}");
    }
}

#[test]
fn nesting_is_bounded_when_a_template_is_read() {
    let parens = format!("<< {}1{} >>", "(".repeat(100_000), ")".repeat(100_000));
    let ifs = "<< if 1 >>".repeat(100_000);
    for text in [parens, ifs] {
        let error = Engine::resource_set().parse(&text).unwrap_err();
        assert_eq!((error.kind, error.to_string().contains("limit of 200")), (ErrorKind::Limit, true));
    }
    let long = "x".repeat((4 << 20) + 1);
    assert_eq!(Engine::resource_set().parse(&long).unwrap_err().kind, ErrorKind::Limit);
}

#[test]
fn the_deepest_nesting_fits_on_an_ordinary_stack() {
    let recursion = "<< define \"x\" >><< with . >><< if (eq (len (print (upper (lower \"a\")))) 1) >><< range list . \
                     >><< template \"x\" (sub . 1) >><< end >><< end >><< end >><< end >><< template \"x\" 1000 >>";
    assert!(limit_of(recursion).contains("limit of 200"));
    let parens = format!("<< {}1{} >>", "(".repeat(199), ")".repeat(199));
    assert_eq!(rendered(&parens).as_deref(), Ok("1"));
}

#[test]
fn a_map_cannot_be_made_to_contain_itself() {
    let error = rendered("<< set inputs.m \"x\" (list inputs) >><< set inputs \"y\" inputs.m >>").unwrap_err();
    assert!(error.to_string().contains("contain itself"), "{error}");
}

#[test]
fn deep_values_are_dropped_without_recursion() {
    let deep = "<< $x := dict >><< range 300000 >><< $x = dict \"a\" $x >><< end >>done";
    assert_eq!(rendered(deep).as_deref(), Ok("done"));
    let deep = "<< $x := list >><< range 300000 >><< $x = list $x >><< end >>done";
    assert_eq!(rendered(deep).as_deref(), Ok("done"));
}

#[test]
fn what_a_template_sets_on_the_inputs_later_ones_see() {
    let engine = Engine::resource_set();
    let inputs = inputs(&json!({"a": 1}));
    let set = engine.parse("<< $_ := set inputs \"b\" \"new\" >>").unwrap();
    assert_eq!(set.render(&Value::Nil, Some(&inputs)).as_deref(), Ok(""));
    assert_eq!(engine.parse("<< inputs.b >>").unwrap().render(&Value::Nil, Some(&inputs)).as_deref(), Ok("new"));
}

#[test]
fn a_template_renders_again_and_in_parallel() {
    fn is_shareable<T: Send + Sync>() {}
    is_shareable::<Template>();
    is_shareable::<Inputs>();
    let template = Engine::resource_set().parse("<< inputs.a >>").unwrap();
    for n in 0..3 {
        let inputs = inputs(&json!({"a": n}));
        assert_eq!(template.render(&Value::Nil, Some(&inputs)), Ok(n.to_string()));
    }
}

#[test]
fn the_words_for_true_and_false_become_bools() {
    assert_eq!(
        rendered("<< bool \"t\" >> << bool \"FALSE\" >> << bool 2 >> << bool 0.0 >> << bool true >>").as_deref(),
        Ok("true false true false true")
    );
    let error = rendered("<< bool \"yes\" >>").unwrap_err();
    assert!(error.to_string().ends_with("error calling bool: strconv.ParseBool: parsing \"yes\": invalid syntax"));
}

fn chart(hooks: Vec<(String, Hook)>) -> Engine {
    Engine::new(EngineSettings {
        name: "chart".into(),
        delimiters: ("{{".into(), "}}".into()),
        functions: Functions::Full,
        missing_key: MissingKey::Zero,
        hooks,
        ..EngineSettings::resource_set()
    })
}

#[test]
fn the_embedder_can_add_functions() {
    let lookup: Hook = Arc::new(|args| match args {
        [Value::Text(kind), Value::Text(_)] if **kind == *b"Secret" => Ok(Value::from(&json!({"data": {"a": "b"}}))),
        _ => Err("not found".into()),
    });
    let engine = chart(vec![("lookup".into(), lookup)]);
    let template = engine.parse("{{ (lookup \"Secret\" \"x\").data.a }}{{ .missing }}").unwrap();
    let root = Value::from(&json!({}));
    assert_eq!(template.render(&root, None).as_deref(), Ok("b"));
    let error = engine.parse("{{ lookup 1 2 }}").unwrap().render(&root, None).unwrap_err();
    assert!(error.to_string().ends_with("error calling lookup: not found"), "{error}");
}

#[test]
fn templates_of_a_chart_include_each_other_and_read_texts_as_templates() {
    let engine = chart(Vec::new());
    let texts = [
        ("helpers", "{{ define \"labels\" }}app: {{ .name }}{{ end }}"),
        ("main", "{{ include \"labels\" . | nindent 2 }}\n{{ tpl \"{{ include \\\"labels\\\" . | upper }}\" . }}"),
        ("lost", "{{ include \"nowhere\" . }}"),
        ("endless", "{{ include \"endless\" . }}"),
        ("bomb", "{{ tpl .text . }}"),
    ];
    let templates = engine.parse_all(texts).unwrap();
    let root = Value::from(&json!({"name": "web", "text": "{{ tpl .text . }}"}));
    let render = |name: &str| templates.get(name).unwrap().render(&root, None);
    assert_eq!(render("main").as_deref(), Ok("\n  app: web\nAPP: WEB"));
    assert!(render("lost").unwrap_err().to_string().contains("no template \"nowhere\""));
    assert_eq!(render("endless").unwrap_err().kind, ErrorKind::Limit);
    assert_eq!(render("bomb").unwrap_err().kind, ErrorKind::Limit);
}

#[test]
fn charts_have_more_functions() {
    let engine = chart(Vec::new());
    let root = Value::from(&json!({"a": {"x": 1, "y": {"z": 2}}, "b": {"x": 5, "y": {"w": 3}, "n": "new"}}));
    for (text, want) in [
        ("{{ toJson (merge .a .b) }}", r#"{"n":"new","x":1,"y":{"w":3,"z":2}}"#),
        ("{{ toJson (mergeOverwrite (deepCopy .a) .b) }}", r#"{"n":"new","x":5,"y":{"w":3,"z":2}}"#),
        ("{{ (fromYaml \"a: 1000000\").a }}", "1e+06"),
        ("[{{ toYaml (dict \"a\" 1) }}]", "[a: 1]"),
        (
            "{{ kebabcase \"FooBar baz\" }} {{ snakecase \"FooBar\" }} {{ camelcase \"foo_bar-baz\" }}",
            "foo-bar-baz foo_bar FooBarBaz",
        ),
        ("{{ required \"needed\" 0 }}", "0"),
        ("{{ bitwiseOr 5 2 }} {{ bitwiseShiftLeft 2 1 }}", "7 4"),
        ("{{ .missing }}{{ .missing | default \"d\" }}", "d"),
    ] {
        let root = Value::from(&json!({"a": {"x": 1, "y": {"z": 2}}, "b": {"x": 5, "y": {"w": 3}, "n": "new"}}));
        assert_eq!(engine.parse(text).unwrap().render(&root, None).as_deref(), Ok(want), "{text}");
    }
    let error = engine.parse("{{ required \"needed\" \"\" }}").unwrap().render(&root, None).unwrap_err();
    assert!(error.to_string().ends_with("error calling required: needed"));
}
