// A pane that fails says so in its place; the others live on.
import { Component, type ComponentChildren } from "preact";
import { copyText } from "./clipboard";
import { Button } from "./button";

interface Props {
  name: string;
  /** What was shown: when it changes, the pane is tried again. */
  of?: unknown;
  children: ComponentChildren;
}

export class Boundary extends Component<Props, { error: Error | null; of: unknown }> {
  override state = { error: null as Error | null, of: undefined as unknown };

  static override getDerivedStateFromProps(props: Props, state: { error: Error | null; of: unknown }) {
    return props.of === state.of ? null : { error: null, of: props.of };
  }

  static override getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const report = `tvmlab, ${this.props.name}\n${error.stack ?? error.message}\n${navigator.userAgent}`;
    return (
      <div class="tvl-failed" role="alert">
        <p>
          <b>This part could not be drawn.</b> The rest goes on, and nothing is lost.
        </p>
        <p>
          <code>{error.message}</code>
        </p>
        <p class="tvl-row">
          <Button label="Try again" onClick={() => this.setState({ error: null })} />
          <Button label="Copy report" icon="copy" onClick={() => void copyText(report)} />
        </p>
      </div>
    );
  }
}
