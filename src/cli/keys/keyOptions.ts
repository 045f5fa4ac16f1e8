import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { hexToBytes } from '../../primitives/bytes.ts'
import { SECP256K1_ORDER } from '../../primitives/secp256k1.ts'
import type { Terminal } from '../ports.ts'
import { addSpelling } from '../spelling.ts'
import { hdPath, keyOfMnemonic } from './mnemonic.ts'

/** Environment variables that hold secrets, for machines without a terminal. */
const PRIVATE_KEY_VARIABLE = 'COIND_PRIVATE_KEY'
const PASSWORD_VARIABLE = 'COIND_KEY_PASSWORD'
const KEYSTORE_VARIABLE = 'COIND_KEYSTORE'
const INSTEAD_OF_PASSWORD = `--password-file or ${PASSWORD_VARIABLE}`
/** Shorter passwords of new keys are refused. */
const MIN_PASSWORD = 8

export interface KeystoreOptions {
  readonly keystore?: string
  readonly passwordFile?: string
}

export interface SecretOptions {
  readonly privateKeyFile?: string
  readonly mnemonicFile?: string
  readonly index?: string
  readonly account?: string
  readonly hdPath?: string
}

export function addKeystoreOptions(command: Command): Command {
  const directory = new Option(
    '--keystore <directory>',
    `directory of the encrypted keys (default: ${KEYSTORE_VARIABLE}, or ~/.coind-keys)`,
  )
  return addSpelling(command.addOption(directory), directory, '--keyring-dir').addOption(
    new Option('--password-file <path>', `file with the password of the key (else ${PASSWORD_VARIABLE}, or a prompt)`),
  )
}

export function addSecretOptions(command: Command): Command {
  command.addOption(new Option('--private-key-file <path>', 'file with a private key: 64 hex digits'))
  return addMnemonicOptions(command)
}

/** Adds the options for a mnemonic from a file, and for which of its keys is meant. */
export function addMnemonicOptions(command: Command): Command {
  const mnemonic = new Option('--mnemonic-file <path>', 'file with a mnemonic of 12 to 24 words')
  return addPathOptions(addSpelling(command.addOption(mnemonic), mnemonic, '--source'))
}

/** Adds the options for which key of a mnemonic or a Ledger is meant. */
function addPathOptions(command: Command): Command {
  return command
    .addOption(new Option('--index <n>', "index of the key, the last part of m/44'/60'/0'/0/n").default('0'))
    .addOption(new Option('--account <n>', "account index, the third part of m/44'/60'/0'/0/n").default('0'))
    .addOption(new Option('--hd-path <path>', 'full derivation path instead'))
}

/** Returns the path in the options of {@link addPathOptions}. @throws ConfigError when they are invalid */
export function pathOf({ index = '0', account = '0', hdPath: given }: SecretOptions): string {
  if (given === undefined) return hdPath(pathNumber('--index', index), pathNumber('--account', account))
  if (/^m(\/\d{1,9}'?){1,10}$/.test(given)) return given
  throw new ConfigError("--hd-path must be a path such as m/44'/60'/0'/0/0")
}

function pathNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new ConfigError(`${option} must be a whole number from 0 to 999999999`)
  return Number(text)
}

export function keystoreDirectory({ keystore }: KeystoreOptions, terminal: Terminal): string {
  const given = keystore ?? terminal.environment[KEYSTORE_VARIABLE]
  if (given === undefined || given === '') return join(terminal.homeDirectory, '.coind-keys')
  return resolve(terminal.workingDirectory, given)
}

/** Reads the password of an existing key. */
export async function readPassword(
  { passwordFile }: KeystoreOptions,
  name: string,
  terminal: Terminal,
): Promise<string> {
  if (passwordFile !== undefined) return readSecretFile(passwordFile, terminal)
  const given = terminal.environment[PASSWORD_VARIABLE]
  return given ?? terminal.readSecret(`Password of the key ${name}: `, INSTEAD_OF_PASSWORD)
}

/**
 * Reads a password for a new key.
 * @throws ConfigError when it is too short, or was typed differently the second time
 */
export async function readNewPassword({ passwordFile }: KeystoreOptions, terminal: Terminal): Promise<string> {
  const given =
    passwordFile === undefined ? terminal.environment[PASSWORD_VARIABLE] : readSecretFile(passwordFile, terminal)
  const ask = (question: string): Promise<string> => terminal.readSecret(question, INSTEAD_OF_PASSWORD)
  const password = given ?? (await ask('New password (it encrypts the key): '))
  if (password.length < MIN_PASSWORD) throw new ConfigError(`the password needs at least ${MIN_PASSWORD} characters`)
  if (given === undefined && (await ask('Repeat the password: ')) !== password) {
    throw new ConfigError('the two passwords differ: nothing was written')
  }
  return password
}

/**
 * Returns the private key from a file or the environment; undefined when neither holds one.
 * @throws ConfigError when it is not a key
 */
export async function givenPrivateKey(options: SecretOptions, terminal: Terminal): Promise<Uint8Array | undefined> {
  const { privateKeyFile, mnemonicFile } = options
  if (privateKeyFile !== undefined && mnemonicFile !== undefined) {
    throw new ConfigError('give either --private-key-file or --mnemonic-file')
  }
  if (privateKeyFile !== undefined) return parsePrivateKey(readSecretFile(privateKeyFile, terminal), privateKeyFile)
  if (mnemonicFile !== undefined) return keyOfMnemonic(readSecretFile(mnemonicFile, terminal), pathOf(options))
  const variable = terminal.environment[PRIVATE_KEY_VARIABLE]
  return variable === undefined ? undefined : parsePrivateKey(variable, PRIVATE_KEY_VARIABLE)
}

/** Reads the words of an existing key, from a file or typed in. */
export async function readMnemonic({ mnemonicFile }: SecretOptions, terminal: Terminal): Promise<string> {
  if (mnemonicFile !== undefined) return readSecretFile(mnemonicFile, terminal)
  return terminal.readSecret('Mnemonic: ', '--mnemonic-file')
}

/** Names the source of the key of `givenPrivateKey`, for messages. */
export function sourceOf({ privateKeyFile, mnemonicFile }: SecretOptions): string {
  return privateKeyFile ?? mnemonicFile ?? PRIVATE_KEY_VARIABLE
}

/**
 * Asks for a key: hex digits or the words of a mnemonic.
 * @throws ConfigError when the answer is neither
 */
export async function readTypedKey(options: SecretOptions, terminal: Terminal): Promise<Uint8Array> {
  const instead = `--private-key-file, --mnemonic-file or ${PRIVATE_KEY_VARIABLE}`
  const text = await terminal.readSecret('Private key or mnemonic: ', instead)
  if (/\s/.test(text.trim())) return keyOfMnemonic(text, pathOf(options))
  return parsePrivateKey(text, 'the input')
}

function parsePrivateKey(text: string, source: string): Uint8Array {
  const trimmed = text.trim()
  // The files of `coind testnet` are JSON.
  const digits = /"private_key":\s*"([^"]*)"/.exec(trimmed)?.[1] ?? trimmed
  const match = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(digits)
  if (match === null) throw new ConfigError(`${source} does not hold a private key of 64 hex digits`)
  const value = BigInt(`0x${match[1]}`)
  if (value === 0n || value >= SECP256K1_ORDER) throw new ConfigError(`${source} does not hold a valid secp256k1 key`)
  return hexToBytes(`0x${match[1]}`)
}

/** Reads the text of a file, without the line break that editors put at its end. */
function readSecretFile(path: string, terminal: Terminal): string {
  const file = resolve(terminal.workingDirectory, path)
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new ConfigError(`cannot read ${file} (${(error as NodeJS.ErrnoException).code ?? String(error)})`)
  }
}
