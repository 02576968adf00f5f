/** A page that tries to use the API with the development key in every way that a browser has. */
globalThis.attack = async (api) => {
  const results = [];
  const attempt = async (what, init) => {
    try {
      const response = await fetch(api, init);
      results.push(`${what}: ${response.status} ${response.type}`);
    } catch {
      results.push(`${what}: blocked`);
    }
  };
  const authorization = 'Bearer dev';
  for (const mode of ['cors', 'no-cors']) {
    await attempt(`${mode} with the header`, { method: 'POST', mode, headers: { authorization } });
    await attempt(`${mode} as text`, { method: 'POST', mode, body: JSON.stringify({ authorization }) });
  }
  await attempt('credentials', {
    method: 'POST',
    mode: 'cors',
    credentials: 'include',
    headers: { authorization },
  });
  for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const form = Object.assign(document.createElement('form'), {
      method: 'post',
      enctype,
      action: api,
      target: 'hidden',
    });
    form.innerHTML = '<input name="authorization" value="Bearer dev">';
    const frame = Object.assign(document.createElement('iframe'), { name: 'hidden' });
    document.body.append(form, frame);
    const loaded = new Promise((resolve) => {
      frame.onload = resolve;
    });
    form.submit();
    await loaded;
    form.remove();
    frame.remove();
  }
  navigator.sendBeacon(api, JSON.stringify({ authorization }));
  await attempt('the own server', { method: 'GET', headers: { authorization } });
  return results;
};
