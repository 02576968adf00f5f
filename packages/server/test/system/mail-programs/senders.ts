import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../docs/code-blocks.ts';

const run = promisify(execFile);
const FOLDER = join(ROOT, 'docs/examples/sending');

/** A library or program that sends mail, and the example of docs/sending.md for it. */
export interface Sender {
  name: string;
  /** The example, relative to docs/examples/sending. */
  file: string;
  debianPackages: string;
  /** Programs that run it, in order of preference. */
  programs: string[];
  /** Arguments with which the program exits with 0 if the library is installed. */
  probe: string[];
  /** Compiles it into `folder`. @returns the command. Default: the program with the file */
  compile?(source: string, folder: string): Promise<string[]>;
  /** The example attaches a file. */
  attaches: boolean;
  /** Versions that do not check certificates, and arguments with which the program exits with 0 for these. */
  acceptsAnyCertificate?: { versions: string; probe: string[] };
}

/** First the Python of Debian, because its packages are not available to others. */
const PYTHONS = ['/usr/bin/python3', 'python3'];
const JAVA_LIBRARIES = '/usr/share/java/jakarta-mail.jar:/usr/share/java/jakarta-activation.jar';
/** Halves the CPU time of a program that runs for a second. */
const FOR_SHORT_PROGRAMS = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

type Common = [name: string, file: string, debianPackages: string];
/** Senders of a language, which differ in name, file, packages and the arguments that show the library. */
const inLanguage = (programs: string[], probe: (library: string) => string[]) => {
  return (
    ...[name, file, debianPackages, library, more]: [...Common, library: string, Partial<Sender>?]
  ) => ({
    ...{ name, file, debianPackages, programs, probe: probe(library), attaches: true, ...more },
  });
};
const node = inLanguage([process.execPath], (argument) => [argument]);
const python = inLanguage(PYTHONS, (modules) => ['-c', `import ${modules}`]);
const php = inLanguage(['php'], (autoload) => ['-r', `require "${autoload}/autoload.php";`]);
const ruby = inLanguage(['ruby'], (library) => ['-e', `require "${library}"`]);
const shell = inLanguage(['sh'], (condition) => ['-c', condition]);

export const SENDERS: Sender[] = [
  node('nodemailer', 'node/nodemailer.mjs', 'nodejs', '--version'),
  python('Python smtplib', 'python/send_smtplib.py', 'python3', 'smtplib, ssl'),
  python('Python aiosmtplib', 'python/send_aiosmtplib.py', 'python3-aiosmtplib', 'aiosmtplib'),
  python('Django', 'python/send_django.py', 'python3-django', 'django', {
    acceptsAnyCertificate: {
      versions: 'Django before 4.2',
      probe: ['-c', 'import django; exit(django.VERSION >= (4, 2))'],
    },
  }),
  php('PHPMailer', 'php/phpmailer.php', 'php-cli libphp-phpmailer', 'libphp-phpmailer'),
  php('Symfony Mailer', 'php/symfony-mailer.php', 'php-cli php-symfony-mailer', 'Symfony/Component/Mailer'),
  ruby('Ruby Net::SMTP', 'ruby/net-smtp.rb', 'ruby', 'net/smtp', { attaches: false }),
  ruby('Ruby mail', 'ruby/mail.rb', 'ruby ruby-mail', 'mail'),
  {
    name: 'Perl Net::SMTP',
    file: 'perl/net-smtp.pl',
    debianPackages: 'perl libauthen-sasl-perl libio-socket-ssl-perl',
    programs: ['perl'],
    probe: ['-MNet::SMTP', '-MAuthen::SASL', '-MIO::Socket::SSL', '-e', '0'],
    attaches: false,
  },
  shell('curl', 'shell/curl.sh', 'curl', 'command -v curl'),
  shell('swaks', 'shell/swaks.sh', 'swaks libnet-ssleay-perl', 'command -v swaks && perl -MNet::SSLeay -e 0'),
  shell('msmtp', 'shell/msmtp.sh', 'msmtp', 'command -v msmtp'),
  // Compiled while other programs run.
  {
    name: 'Go net/smtp',
    file: 'go/main.go',
    debianPackages: 'golang-go',
    programs: ['go'],
    probe: ['version'],
    async compile(source, folder) {
      const binary = join(folder, 'go-net-smtp');
      // Without cgo and inlining the standard library takes 10 s to compile the first time, not 17 s.
      const env = { ...process.env, CGO_ENABLED: '0' };
      await run('go', ['build', '-gcflags=all=-l', '-o', binary, source], { env });
      return [binary];
    },
    attaches: false,
  },
  {
    name: 'Jakarta Mail',
    file: 'java/Send.java',
    debianPackages: 'default-jdk-headless libjakarta-mail-java',
    programs: ['sh'],
    probe: ['-c', `command -v javac && ls ${JAVA_LIBRARIES.replaceAll(':', ' ')}`],
    async compile(source, folder) {
      await run('javac', ['-encoding', 'UTF-8', '-cp', JAVA_LIBRARIES, '-d', folder, source]);
      return ['java', ...FOR_SHORT_PROGRAMS, '-cp', `${folder}:${JAVA_LIBRARIES}`, 'Send'];
    },
    attaches: true,
  },
];

/**
 * Compiles an example into a folder if necessary.
 * @returns the command that runs it
 */
export async function commandOf(sender: Sender, program: string, folder: string): Promise<string[]> {
  const source = join(FOLDER, sender.file);
  return sender.compile ? await sender.compile(source, folder) : [program, source];
}
