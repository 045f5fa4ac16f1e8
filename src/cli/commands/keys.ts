import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { LegacyAminoPubKey, publicKeyToAny } from '../../modules/tx/publicKey.ts'
import { keyOf } from '../../modules/tx/signTransaction.ts'
import {
  AddressError,
  BECH32_ACCOUNT,
  BECH32_CONSENSUS,
  BECH32_OPERATOR,
  parseTypedAddress,
  toAddress,
  toBech32,
  toChecksumAddress,
} from '../../primitives/address.ts'
import { bytesToHex, compareBytes, hexToBytes } from '../../primitives/bytes.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import {
  addKeystoreOptions,
  addMnemonicOptions,
  addSecretOptions,
  givenPrivateKey,
  type KeystoreOptions,
  keystoreDirectory,
  pathOf,
  readMnemonic,
  readNewPassword,
  readPassword,
  readTypedKey,
  type SecretOptions,
} from '../keys/keyOptions.ts'
import { type Keystore, openKeystore, publicKeyFromJson, publicKeyToJson, type StoredKey } from '../keys/keystore.ts'
import { ledgerKey, ledgerOn } from '../keys/ledger.ts'
import { createMnemonic, keyOfMnemonic } from '../keys/mnemonic.ts'
import { openSecret } from '../keys/signer.ts'
import { formatYaml, OUTPUTS, type OutputOption } from '../output.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { wholeNumber } from '../wholeNumber.ts'

interface AddOptions extends KeystoreOptions, SecretOptions, FormOptions {
  readonly recover?: true
  readonly multisig?: string
  readonly multisigThreshold: number
  readonly nosort?: true
  readonly pubkey?: string
  readonly ledger?: true
  readonly backup: boolean
}

/** The most keys of a multisig: the limit of signatures of a transaction is lower by default. */
const MAX_MEMBERS = 100
const BECH32: Readonly<Record<string, string>> = { acc: BECH32_ACCOUNT, val: BECH32_OPERATOR, cons: BECH32_CONSENSUS }

export function addKeys(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const keys = program.command('keys').description('Manage account keys, encrypted on this machine (never in the node)')
  const add = (name: string, description: string): Command => {
    const command = new Command(name).description(description).copyInheritedSettings(keys)
    keys.addCommand(addKeystoreOptions(command))
    return command
  }
  const keystoreOf = (options: KeystoreOptions): Keystore => openKeystore(keystoreDirectory(options, terminal))

  const create = add('add', 'Create a key and show its mnemonic once, or add an existing key')
    .alias('create')
    .argument('<name>', 'name of the key')
    .option('--recover', 'restore a key from its mnemonic, from a prompt or --mnemonic-file')
    .option('--no-backup', 'do not show the mnemonic')
    .option('--ledger', 'use the key of the connected Ledger')
    .option('--multisig <keys>', 'create a multisig of these keys: comma-separated names')
    .option('--multisig-threshold <n>', 'number of signatures required by the multisig', wholeNumber(1, MAX_MEMBERS), 1)
    .option('--nosort', 'keep the given order of the keys of the multisig, instead of sorting by address')
    .option('--pubkey <json>', 'add only a public key, as printed by keys show --pubkey')
  addForm(addMnemonicOptions(create)).action(async (name: string, options: AddOptions) => {
    const keystore = keystoreOf(options)
    keystore.checkName(name)
    const publicEntry = await readPublicEntry(keystore, options, terminal)
    if (publicEntry !== undefined) {
      print(keystore.addPublic(name, publicEntry), options)
      return
    }
    const isRecovery = options.recover === true || options.mnemonicFile !== undefined
    const given = isRecovery ? await readMnemonic(options, terminal) : undefined
    const password = await readNewPassword(options, terminal)
    const mnemonic = given ?? (await createMnemonic())
    const key = await keystore.add(name, await keyOfMnemonic(mnemonic, pathOf(options)), password)
    print(key, options, given === undefined && options.backup ? mnemonic : undefined)
  })

  const print = (key: StoredKey, options: FormOptions, mnemonic?: string): void => {
    const words = mnemonic === undefined ? {} : { mnemonic }
    if (options.json === true) terminal.print(`${JSON.stringify({ ...encodings(key), ...words }, null, 2)}\n`)
    else if (options.output === 'json') terminal.print(`${JSON.stringify({ ...keyOutput(key), ...words })}\n`)
    else if (mnemonic === undefined) terminal.print(describe(key))
    else {
      terminal.print(
        `${describe(key)}\nWrite these words down and keep them safe. Anyone who has them owns the key.\n\n  ${mnemonic}\n`,
      )
    }
  }

  addForm(
    addSecretOptions(add('import', 'Add a key from a file, the environment, or typed in (hex digits or a mnemonic)')),
  )
    .alias('import-hex')
    .argument('<name>', 'name of the key')
    .argument('[file]', 'encrypted key, as printed by keys export (Web3 v3); its password does not change')
    .action(async (name: string, file: string | undefined, options: KeystoreOptions & SecretOptions & FormOptions) => {
      const keystore = keystoreOf(options)
      keystore.checkName(name)
      if (file !== undefined) {
        const text = readFileSync(resolve(terminal.workingDirectory, file), 'utf8')
        const password = await readPassword(options, name, terminal)
        print(await keystore.add(name, await keystore.decrypt(text, password, file), password), options)
        return
      }
      const privateKey = (await givenPrivateKey(options, terminal)) ?? (await readTypedKey(options, terminal))
      print(await keystore.add(name, privateKey, await readNewPassword(options, terminal)), options)
    })

  addForm(add('list', 'Show all keys'))
    .alias('ls')
    .option('-n, --list-names', 'print only the names')
    .action((options: KeystoreOptions & FormOptions & { readonly listNames?: true }) => {
      const keystore = keystoreOf(options)
      const all = keystore.list()
      if (options.json === true) terminal.print(`${JSON.stringify(all.map(encodings), null, 2)}\n`)
      else if (options.output === 'json') terminal.print(`${JSON.stringify(all.map(keyOutput))}\n`)
      else if (options.listNames === true) terminal.print(all.map(({ name }) => `${name}\n`).join(''))
      else if (all.length === 0) terminal.print(`There are no keys in ${keystore.directory}\n`)
      else terminal.print(all.map(describe).join('\n'))
    })

  addForm(add('show', 'Show the encodings of a key’s address'))
    .argument('<name>', 'name of the key, or its address')
    .option('-a, --address', 'print only the address')
    .addOption(
      new Option('--bech <form>', 'form of the address: account, operator or consensus').choices(Object.keys(BECH32)),
    )
    .option('-p, --pubkey', 'print only the public key, in JSON')
    .option('-d, --device', 'also show the address on the Ledger, and wait for its confirmation there')
    .action(async (name: string, options: KeystoreOptions & ShowOptions) => {
      const key = keystoreOf(options).find(name)
      if (options.device === true) {
        if (key.kind !== 'ledger') throw new ConfigError(`${key.name} is not on a Ledger`)
        await ledgerKey(ledgerOn(await terminal.openLedger()), key.hdPath!, true)
      }
      const bech32 = toBech32(key.address, BECH32[options.bech ?? 'acc'])
      if (options.address === true) terminal.print(`${bech32}\n`)
      else if (options.pubkey === true) {
        const publicKey = await publicKeyOf(keystoreOf(options), key, options, terminal)
        terminal.print(`${JSON.stringify(publicKeyToJson(publicKey))}\n`)
      } else if (options.bech !== undefined && options.output === 'json') {
        terminal.print(`${JSON.stringify({ ...keyOutput(key), address: bech32 })}\n`)
      } else if (options.bech !== undefined) terminal.print(formatYaml({ ...keyOutput(key), address: bech32 }))
      else print(key, options)
    })

  add('export', 'Print a key, encrypted (Web3 v3) or as private key')
    .argument('<name>', 'name of the key, or its address')
    .option('--unarmored-hex', 'print the private key as hex digits; requires --unsafe')
    .option('--unsafe', 'confirm that the secret is printed')
    .action(
      async (name: string, options: KeystoreOptions & { readonly unsafe?: true; readonly unarmoredHex?: true }) => {
        const keystore = keystoreOf(options)
        const key = keystore.find(name)
        if (options.unsafe === true) {
          terminal.print(`${bytesToHex(await openSecret(keystore, key, options, terminal))}\n`)
          return
        }
        if (options.unarmoredHex === true) {
          throw new ConfigError(
            'this prints the private key unencrypted, and anyone who sees it owns the account: add --unsafe to confirm',
          )
        }
        terminal.print(keystore.encrypted(key))
      },
    )

  add('rename', 'Rename a key')
    .argument('<name>', 'name of the key, or its address')
    .argument('<new-name>', 'new name')
    .addOption(new Option('-y, --yes', 'no effect, accepted for compatibility').hideHelp())
    .action((name: string, newName: string, options: KeystoreOptions) => {
      const keystore = keystoreOf(options)
      const key = keystore.find(name)
      keystore.rename(key, newName)
      terminal.print(`Renamed the key ${key.name} to ${newName}\n`)
    })

  add('delete', 'Remove keys from this machine')
    .argument('<names...>', 'names of the keys, or their addresses')
    .option('-y, --yes', 'confirm the removal')
    .action((names: readonly string[], options: KeystoreOptions & { readonly yes?: true }) => {
      const keystore = keystoreOf(options)
      for (const key of names.map((name) => keystore.find(name))) {
        if (options.yes === undefined) {
          throw new ConfigError(
            `without its mnemonic or a copy, the key ${key.name} is lost permanently: confirm with --yes`,
          )
        }
        keystore.remove(key)
        terminal.print(`Removed the key ${key.name}\n`)
      }
    })

  keys
    .command('mnemonic')
    .description('Print a new mnemonic and store nothing')
    .action(async () => terminal.print(`${await createMnemonic()}\n`))

  addForm(keys.command('parse').description('Show an address in all encodings'))
    .argument('<address>', '0x…, hex digits, coin1…, coinvaloper1… or coinvalcons1…')
    .action((text: string, options: FormOptions) => {
      const parsed = parseKey(text)
      terminal.print(options.output === 'json' ? `${JSON.stringify(parsed)}\n` : formatYaml(parsed))
    })
}

interface FormOptions extends OutputOption {
  readonly json?: true
}

interface ShowOptions extends FormOptions {
  readonly address?: true
  readonly bech?: string
  readonly pubkey?: true
  readonly device?: true
}

function addForm(command: Command): Command {
  return command
    .option('--json', 'print JSON with all encodings of the addresses')
    .addOption(
      new Option('-o, --output <form>', 'text, or JSON as the Cosmos SDK prints it').choices(OUTPUTS).default('text'),
    )
}

/** Reads a key whose secret is elsewhere: on a Ledger, with the members of a multisig, or on another machine. */
async function readPublicEntry(
  keystore: Keystore,
  options: AddOptions,
  terminal: Terminal,
): Promise<Parameters<Keystore['addPublic']>[1] | undefined> {
  const { multisig, ledger, pubkey } = options
  if ([multisig, ledger, pubkey].filter((option) => option !== undefined).length > 1) {
    throw new ConfigError('give only one of --multisig, --ledger and --pubkey')
  }
  if (multisig !== undefined) {
    const publicKey = await readMultisig(keystore, multisig.split(','), options, terminal)
    return { kind: 'multi', publicKey }
  }
  if (ledger === true) {
    const hdPath = pathOf(options)
    const key = await ledgerKey(ledgerOn(await terminal.openLedger()), hdPath)
    return { kind: 'ledger', publicKey: publicKeyToAny(key), hdPath }
  }
  if (pubkey === undefined) return undefined
  return { kind: 'offline', publicKey: publicKeyFromJson(parseJson(pubkey)).any }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ConfigError(`--pubkey is not valid JSON: ${(error as Error).message}`)
  }
}

async function readMultisig(
  keystore: Keystore,
  names: readonly string[],
  { multisigThreshold: threshold, nosort, ...options }: AddOptions,
  terminal: Terminal,
): Promise<AnyValue> {
  const members: { readonly address: Uint8Array; readonly publicKey: AnyValue }[] = []
  for (const name of names) {
    const key = keystore.find(name)
    if (key.kind === 'multi') throw new ConfigError(`${name} is a multisig and cannot be a member of another one`)
    members.push({ address: key.address, publicKey: await publicKeyOf(keystore, key, options, terminal) })
  }
  if (threshold > members.length) {
    throw new ConfigError(`a multisig of ${members.length} keys cannot require ${threshold} signatures`)
  }
  if (new Set(members.map(({ address }) => bytesToHex(address))).size < members.length) {
    throw new ConfigError('a key is named twice')
  }
  if (nosort !== true) members.sort((a, b) => compareBytes(a.address, b.address))
  const publicKeys = members.map(({ publicKey }) => publicKey)
  return { typeUrl: LegacyAminoPubKey.typeUrl, value: LegacyAminoPubKey.encode({ threshold, publicKeys }) }
}

/** Returns a key's public key; the file of another program has it only with its secret. */
async function publicKeyOf(
  keystore: Keystore,
  key: StoredKey,
  options: KeystoreOptions,
  terminal: Terminal,
): Promise<AnyValue> {
  if (key.publicKey !== undefined) return key.publicKey
  return publicKeyToAny(keyOf({ privateKey: await openSecret(keystore, key, options, terminal) }))
}

/** Returns a key as the SDK's programs print it. */
function keyOutput({ name, kind, address, publicKey }: StoredKey) {
  return {
    name,
    type: kind,
    address: toBech32(address),
    pubkey: publicKey === undefined ? '' : JSON.stringify(publicKeyToJson(publicKey)),
  }
}

/**
 * Returns an address in all encodings, or the parts of one encoding, as the SDK's programs print
 * them.
 * @throws ConfigError
 */
function parseKey(text: string): Json {
  const isHex = /^(0x)?[0-9a-fA-F]{40}$/.test(text)
  if (isHex) {
    const address = toAddress(hexToBytes(`0x${text.replace(/^0x/, '')}`))
    const formats = Object.values(BECH32).map((prefix) => toBech32(address, prefix))
    return { formats: [...formats, toChecksumAddress(address)] }
  }
  const human = text.slice(0, text.lastIndexOf('1'))
  try {
    return { human, bytes: bytesToHex(parseTypedAddress(text, human)).slice(2).toUpperCase() }
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    throw new ConfigError(`${text} is not an address: ${error.message}`)
  }
}

function encodings({ name, address }: StoredKey) {
  return {
    name,
    address: toChecksumAddress(address),
    bech32: toBech32(address),
    validator: toBech32(address, BECH32_OPERATOR),
  }
}

const KIND_TEXTS = {
  local: '',
  ledger: '  on a Ledger\n',
  multi: '  a multisig\n',
  offline: '  public key only\n',
} as const

function describe(key: StoredKey): string {
  const { name, address, bech32, validator } = encodings(key)
  return `${name}
  address    ${address}
  bech32     ${bech32}
  validator  ${validator}
${KIND_TEXTS[key.kind]}`
}
