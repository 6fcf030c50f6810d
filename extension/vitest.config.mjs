// Tests wait until nothing moves any more: on a busy machine that takes a while.
export default { test: { testTimeout: 30_000 } };
