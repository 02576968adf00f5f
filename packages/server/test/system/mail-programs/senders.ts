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

export const SENDERS: Sender[] = [
  {
    name: 'nodemailer',
    file: 'node/nodemailer.mjs',
    debianPackages: 'nodejs',
    programs: [process.execPath],
    probe: ['--version'],
    attaches: true,
  },
  {
    name: 'Python smtplib',
    file: 'python/send_smtplib.py',
    debianPackages: 'python3',
    programs: PYTHONS,
    probe: ['-c', 'import smtplib, ssl'],
    attaches: true,
  },
  {
    name: 'Python aiosmtplib',
    file: 'python/send_aiosmtplib.py',
    debianPackages: 'python3-aiosmtplib',
    programs: PYTHONS,
    probe: ['-c', 'import aiosmtplib'],
    attaches: true,
  },
  {
    name: 'Django',
    file: 'python/send_django.py',
    debianPackages: 'python3-django',
    programs: PYTHONS,
    probe: ['-c', 'import django'],
    attaches: true,
    acceptsAnyCertificate: {
      versions: 'Django before 4.2',
      probe: ['-c', 'import django; exit(django.VERSION >= (4, 2))'],
    },
  },
  {
    name: 'PHPMailer',
    file: 'php/phpmailer.php',
    debianPackages: 'php-cli libphp-phpmailer',
    programs: ['php'],
    probe: ['-r', 'require "libphp-phpmailer/autoload.php";'],
    attaches: true,
  },
  {
    name: 'Symfony Mailer',
    file: 'php/symfony-mailer.php',
    debianPackages: 'php-cli php-symfony-mailer',
    programs: ['php'],
    probe: ['-r', 'require "Symfony/Component/Mailer/autoload.php";'],
    attaches: true,
  },
  {
    name: 'Ruby Net::SMTP',
    file: 'ruby/net-smtp.rb',
    debianPackages: 'ruby',
    programs: ['ruby'],
    probe: ['-e', 'require "net/smtp"'],
    attaches: false,
  },
  {
    name: 'Ruby mail',
    file: 'ruby/mail.rb',
    debianPackages: 'ruby ruby-mail',
    programs: ['ruby'],
    probe: ['-e', 'require "mail"'],
    attaches: true,
  },
  {
    name: 'Perl Net::SMTP',
    file: 'perl/net-smtp.pl',
    debianPackages: 'perl libauthen-sasl-perl libio-socket-ssl-perl',
    programs: ['perl'],
    probe: ['-MNet::SMTP', '-MAuthen::SASL', '-MIO::Socket::SSL', '-e', '0'],
    attaches: false,
  },
  {
    name: 'curl',
    file: 'shell/curl.sh',
    debianPackages: 'curl',
    programs: ['sh'],
    probe: ['-c', 'command -v curl'],
    attaches: true,
  },
  {
    name: 'swaks',
    file: 'shell/swaks.sh',
    debianPackages: 'swaks libnet-ssleay-perl',
    programs: ['sh'],
    probe: ['-c', 'command -v swaks && perl -MNet::SSLeay -e 0'],
    attaches: true,
  },
  {
    name: 'msmtp',
    file: 'shell/msmtp.sh',
    debianPackages: 'msmtp',
    programs: ['sh'],
    probe: ['-c', 'command -v msmtp'],
    attaches: true,
  },
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
