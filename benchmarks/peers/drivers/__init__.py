"""Programs that run inside a peer's environment, for peers that are libraries; standard library and the peer only."""
