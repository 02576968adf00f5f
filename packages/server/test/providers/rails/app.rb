# A Rails application whose mailbox prints what it gets, one line of JSON for each mail. Arguments: the ingress and an
# empty folder. Its passwords and keys are where Rails reads them: in the environment.

require "json"
require "action_mailbox/engine"
require "rack/handler/webrick"

INGRESS, FOLDER = ARGV
ENV["DATABASE_URL"] = "sqlite3:#{FOLDER}/database.sqlite3"

class App < Rails::Application
  config.root = FOLDER
  config.eager_load = false
  config.secret_key_base = "x" * 32
  config.logger = Logger.new($stderr)
  config.log_level = :error
  config.active_job.queue_adapter = :inline
  config.active_storage.service = :disk
  config.active_storage.service_configurations = { "disk" => { "service" => "Disk", "root" => FOLDER } }
  config.action_mailbox.ingress = INGRESS.to_sym
  config.action_mailbox.incinerate = false
end

class ApplicationMailbox < ActionMailbox::Base
  routing all: :print
end

class PrintMailbox < ApplicationMailbox
  def process
    text = mail.multipart? ? mail.text_part.decoded : mail.decoded
    puts({ from: mail.from, to: mail.to, subject: mail.subject, text: text,
           in_reply_to: mail.in_reply_to, files: mail.attachments.map { |file| [file.filename, file.decoded] } }.to_json)
  end
end

App.initialize!
ActiveRecord::Migration.verbose = false
folders = [ActiveStorage::Engine, ActionMailbox::Engine].map { |engine| engine.root.join("db/migrate").to_s }
ActiveRecord::MigrationContext.new(folders, ActiveRecord::SchemaMigration).migrate

$stdout.sync = true
Rack::Handler::WEBrick.run(App, Port: 0, BindAddress: "127.0.0.1", AccessLog: [], Logger: WEBrick::Log.new($stderr, 2)) do |server|
  puts server.config[:Port].zero? ? server.listeners.first.addr[1] : server.config[:Port]
end
