/// <reference types="vite/client" />

/** Version of this package, set by the build. */
declare const __VERSION__: string;
