import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Broken, Loading } from './states.tsx';

// biome-ignore lint/suspicious/noExplicitAny: each part has properties of its own.
type Part = ComponentType<any>;

const DETAIL =
  'The server does not respond, or another version of Mayfly was started since this page was loaded.';

/** A screen, or a part of one, whose script is loaded when it is first shown. */
export function later(load: () => Promise<Part>): Part {
  let loaded: Part | undefined;
  return function Later(props: object) {
    const [, setState] = useState(0);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (one) => {
          loaded = one;
          setState(1);
        },
        () => setFailed(true),
      );
    }, []);
    if (hasFailed) return <Broken title="This screen could not be loaded" detail={DETAIL} />;
    return loaded ? h(loaded, props) : <Loading />;
  };
}
