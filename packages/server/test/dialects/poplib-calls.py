"""Calls methods of poplib.POP3 one after the other, each [name, *arguments].

Those of class poplib.error_proto result in their text. `stls` trusts any certificate.
"""
import json, poplib, ssl, sys
port, calls = json.loads(sys.argv[1])
pop = poplib.POP3('127.0.0.1', port, timeout=30)
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
def plain(value):
    if isinstance(value, bytes): return value.decode('latin1')
    if isinstance(value, (list, tuple)): return [plain(one) for one in value]
    return value
def call(name, *args):
    if name == 'stls': return plain(pop.stls(context))
    try: return plain(getattr(pop, name)(*args))
    except poplib.error_proto as error: return plain(error.args[0])
print(json.dumps([call(*one) for one in calls]))
