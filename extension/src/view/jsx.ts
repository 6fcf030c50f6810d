// What the bundler writes for an element (see build.mjs), under a name that no variable has: inside of `map((h) => <td />)`
// an `h` would be that one.
export { Fragment, h as $h } from "preact";
