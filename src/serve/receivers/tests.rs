//! Webhooks by tables: what each source's documented payload means, and what is refused.
