import { render } from 'preact';
import { App } from './app.tsx';
import { interceptLinks } from './lib/router.ts';
import { loadSession } from './lib/session.ts';
import './lib/theme.ts';
import './styles/index.css';

const root = document.getElementById('app');
if (root) {
  // The name that stands there until the scripts are loaded.
  root.replaceChildren();
  render(<App />, root);
}
document.addEventListener('click', interceptLinks);
void loadSession();
