// What the bundler writes for an element (see build.mjs).
export { Fragment, h } from "preact";
