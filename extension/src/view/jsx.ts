// What the bundler writes for an element (see build.mjs): names that nothing else has.
export { Fragment as $Fragment, h as $h } from "preact";
