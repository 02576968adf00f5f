/// <reference types="vite/client" />

/** Version of this package, put in by the build. */
declare const __VERSION__: string;
