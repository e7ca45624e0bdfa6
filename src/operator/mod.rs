//! The public library for operators. The daemon and our own controllers use nothing that an outsider cannot.
//!
//! | you have | you write | the library runs |
//! |---|---|---|
//! | a kind whose objects stand for other objects | [`Composite`] | [`CompositeOperator`] |
//! | a kind with a life of its own | [`controller::Reconcile`] | [`controller::Controller`] |
//! | one source of objects, such as a git tree | [`Component`] | [`Operator`] |
//!
//! Whatever is applied goes through the same engine: wanted objects → plan → apply → outcome. [`sets`] is its door for
//! controllers, [`reads`] are typed reads of the cluster.
//!
//! # An operator in 100 lines
//! `examples/website.rs` is the whole program; `docs/library.md` explains it, and the tests run it on a real API server.
//!
//! **1. A kind**, derived from a type. Its status holds a [`CompositeStatus`], which the library keeps.
//!
//! ```
//! use fluxd::operator::{Composite, CompositeStatus, Context, Desired, Error};
//! use kube::{CustomResource, ResourceExt};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//!
//! #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
//! #[kube(group = "example.dev", version = "v1", kind = "Greeting", namespaced, status = "CompositeStatus")]
//! struct GreetingSpec {
//!     text: String,
//! }
//!
//! // **2. What an object of it stands for.** Everything else has a default.
//! struct Greetings;
//!
//! impl Composite for Greetings {
//!     type Kind = Greeting;
//!
//!     async fn desired(&self, greeting: &Greeting, _: &Context) -> Result<Desired, Error> {
//!         let mut desired = Desired::none();
//!         desired.add(&json!({
//!             "apiVersion": "v1", "kind": "ConfigMap",
//!             "metadata": { "name": greeting.name_any(), "namespace": greeting.namespace() },
//!             "data": { "text": greeting.spec.text },
//!         }))?;
//!         Ok(desired)
//!     }
//! }
//!
//! // **3. Run it**, until the stop is pulled.
//! use fluxd::operator::{CompositeOperator, CompositeSettings};
//! use fluxd::runtime::Stop;
//!
//! async fn run(stop: Stop) -> Result<(), Box<dyn std::error::Error>> {
//!     let settings = CompositeSettings::new("greeting", "example.dev");
//!     let operator = CompositeOperator::new(Greetings, kube::Config::infer().await?, settings)?;
//!     Ok(operator.run(stop).await?)
//! }
//! ```
//!
//! **4. What that brings**: a finalizer before the first object and an inventory before the first apply; staged server-side
//! apply; drift put right when it happens; garbage collection; waiting for health without holding a worker; conditions by
//! kstatus' rules; events; retries with back-off per object and cause; a plan of any object
//! ([`CompositeHandle::plan`]).
//!
//! **5. More**, each one method or one setting: objects that must be ready first ([`Composite::dependencies`]), a service
//! account to apply as ([`Composite::identity`]), a guard of deletions ([`Composite::deletion_blocked`]), other kinds that wake an
//! object ([`CompositeOperator::watches`]), shards over replicas ([`controller::Shard`]), one leader
//! ([`CompositeOperator::with_leadership`] with [`Election`](crate::runtime::Election)), metrics
//! ([`controller::ControllerSettings::metrics`]).
//!
//! # What an operator promises
//! - one pass at a time (per object), each with a deadline and an outcome, however badly it goes;
//! - a pass that finds nothing to do sends nothing;
//! - what others change is put right when it happens, with growing patience where another controller insists;
//! - nothing is deleted on incomplete knowledge; [`Operator`] also keeps a budget of deletes;
//! - when it is asked to stop, the objects under way are finished and nothing new is begun.

mod component;
mod composite;
mod contention;
pub mod controller;
mod handle;
mod own;
mod preview;
pub mod reads;
mod reviews;
mod run;
pub mod sets;
mod triggers;

pub use crate::apply::{Done, Failure, FailureKind, ObjectResult, Outcome, Progress, Stage, Stopped};
pub use crate::cluster::{ConnectError, OnAnswer, OnRequest, client, client_told};
pub use crate::engine::{Budget, CacheError, Drift, Gc, Identity, Settings, Validation};
pub use crate::plan::{Action, GcSummary, Held, HeldDelete, HoldReason, Plan, Reach, SkipReason, Step, Target, Why};
pub use component::{Component, Context, Desired, Error, Trigger};
pub use composite::{Composite, CompositeHandle, CompositeOperator, CompositeSettings, CompositeStatus};
pub use handle::Handle;
pub use preview::Preview;
pub use reviews::Person;
pub use run::Operator;
