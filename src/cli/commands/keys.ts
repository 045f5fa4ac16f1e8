import { Command } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { BECH32_OPERATOR, toBech32, toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import {
  addKeystoreOptions,
  addSecretOptions,
  givenPrivateKey,
  type KeystoreOptions,
  keystoreDirectory,
  readNewPassword,
  readPassword,
  readTypedKey,
  type SecretOptions,
} from '../keys/keyOptions.ts'
import { type Keystore, openKeystore, type StoredKey } from '../keys/keystore.ts'
import { createMnemonic, keyOfMnemonic } from '../keys/mnemonic.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

export function addKeys(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const keys = program.command('keys').description('Keep account keys, encrypted, on this machine (never in the node)')
  const add = (name: string, description: string): Command => {
    const command = new Command(name).description(description).copyInheritedSettings(keys)
    keys.addCommand(addKeystoreOptions(command))
    return command
  }
  const keystoreOf = (options: KeystoreOptions): Keystore => openKeystore(keystoreDirectory(options, terminal))

  add('create', 'Make a new key, and show the mnemonic that can restore it once')
    .argument('<name>', 'name of the key')
    .action(async (name: string, options: KeystoreOptions) => {
      const keystore = keystoreOf(options)
      keystore.checkName(name)
      const password = await readNewPassword(options, terminal)
      const mnemonic = await createMnemonic()
      const key = await keystore.add(name, await keyOfMnemonic(mnemonic, 0), password)
      terminal.print(
        `${describe(key)}\nWrite these words down and keep them safe: they are the key.\n\n  ${mnemonic}\n`,
      )
    })

  addSecretOptions(add('import', 'Add a key from a file, the environment, or typed in (hex digits or a mnemonic)'))
    .argument('<name>', 'name of the key')
    .action(async (name: string, options: KeystoreOptions & SecretOptions) => {
      const keystore = keystoreOf(options)
      keystore.checkName(name)
      const privateKey = (await givenPrivateKey(options, terminal)) ?? (await readTypedKey(options, terminal))
      const key = await keystore.add(name, privateKey, await readNewPassword(options, terminal))
      terminal.print(describe(key))
    })

  add('list', 'Show all keys')
    .option('--json', 'print JSON')
    .action((options: KeystoreOptions & JsonOption) => {
      const keystore = keystoreOf(options)
      const all = keystore.list()
      if (options.json === true) terminal.print(`${JSON.stringify(all.map(encodings), null, 2)}\n`)
      else if (all.length === 0) terminal.print(`There are no keys in ${keystore.directory}\n`)
      else terminal.print(all.map(describe).join('\n'))
    })

  add('show', 'Show both encodings of a key’s address')
    .argument('<name>', 'name of the key, or its address')
    .option('--json', 'print JSON')
    .action((name: string, options: KeystoreOptions & JsonOption) => {
      const key = keystoreOf(options).find(name)
      terminal.print(options.json === true ? `${JSON.stringify(encodings(key), null, 2)}\n` : describe(key))
    })

  add('export', 'Print a private key')
    .argument('<name>', 'name of the key, or its address')
    .option('--unsafe', 'really print the secret')
    .action(async (name: string, options: KeystoreOptions & { readonly unsafe?: true }) => {
      const keystore = keystoreOf(options)
      const key = keystore.find(name)
      if (options.unsafe === undefined) {
        throw new ConfigError('export prints the private key as it is: whoever sees it owns the account; add --unsafe')
      }
      const privateKey = await keystore.open(key, await readPassword(options, key.name, terminal))
      terminal.print(`${bytesToHex(privateKey)}\n`)
    })

  add('delete', 'Remove a key from this machine')
    .argument('<name>', 'name of the key, or its address')
    .option('--yes', 'really remove it')
    .action((name: string, options: KeystoreOptions & { readonly yes?: true }) => {
      const keystore = keystoreOf(options)
      const key = keystore.find(name)
      if (options.yes === undefined) {
        throw new ConfigError(`without its mnemonic or a copy, the key ${key.name} would be lost: confirm with --yes`)
      }
      keystore.remove(key)
      terminal.print(`Removed the key ${key.name}\n`)
    })
}

interface JsonOption {
  readonly json?: true
}

function encodings({ name, address }: StoredKey) {
  return {
    name,
    address: toChecksumAddress(address),
    bech32: toBech32(address),
    validator: toBech32(address, BECH32_OPERATOR),
  }
}

function describe(key: StoredKey): string {
  const { name, address, bech32, validator } = encodings(key)
  return `${name}
  address    ${address}
  bech32     ${bech32}
  validator  ${validator}
`
}
