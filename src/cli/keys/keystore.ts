import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Wallet } from '@ethereumjs/wallet'
import { ConfigError } from '../../config/configError.ts'
import { MAX_KEYS } from '../../modules/auth/params.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { ACCOUNT_KEY_TYPES, type PublicKey, publicKeyToAny, readPublicKey } from '../../modules/tx/publicKey.ts'
import { keyOf } from '../../modules/tx/signTransaction.ts'
import { type Address, parseAddress } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { type Json, type JsonContext, JsonFormError } from '../../primitives/protoScalars.ts'
import { type AnyValue, anyCodec } from '../../primitives/protoSchema.ts'
import { syncDirectory, writeFileDurably } from '../../storage/writeFileDurably.ts'

/** Means to sign for a key: the secret in its file, a Ledger, members of a multisig, or nothing that this machine has. */
type KeyKind = 'local' | 'ledger' | 'multi' | 'offline'

/** A key of the keystore, without its secret. */
export interface StoredKey {
  readonly name: string
  readonly address: Address
  readonly kind: KeyKind
  /** undefined for a local key whose file another program wrote: it follows from the secret */
  readonly publicKey: AnyValue | undefined
  /** where a Ledger has it */
  readonly hdPath: string | undefined
}

/** A key without a secret in this keystore. */
interface PublicEntry {
  readonly kind: Exclude<KeyKind, 'local'>
  readonly publicKey: AnyValue
  readonly hdPath?: string
}

/**
 * Keys of an operator or holder on this machine, each in its own file `<name>.json`. It is Ethereum's encrypted keystore
 * (Web3 v3), which geth, MetaMask and others also read and write, with the public key added; or only the public key, if the
 * secret is elsewhere. The node never reads it.
 */
export interface Keystore {
  readonly directory: string
  /** in order of their names */
  list(): readonly StoredKey[]
  /** Finds a key by name or by address in either encoding. @throws ConfigError when there is no such key */
  find(nameOrAddress: string): StoredKey
  /** The address in the text, or of the key that it names. @throws ConfigError when it is neither */
  addressOf(nameOrAddress: string): Address
  /** @throws ConfigError when no new key can have this name */
  checkName(name: string): void
  /** @throws ConfigError when the name or the key is there already */
  add(name: string, privateKey: Uint8Array, password: string): Promise<StoredKey>
  /** Adds a key without its secret. @throws ConfigError when the name or the key exists already, or the key is invalid */
  addPublic(name: string, entry: PublicEntry): StoredKey
  /** The private key, 32 bytes, in the text of an encrypted keystore. @param path of its file, for messages. @throws ConfigError */
  decrypt(text: string, password: string, path: string): Promise<Uint8Array>
  /** The private key, 32 bytes. @throws ConfigError when the password is wrong or the file is damaged */
  open(key: StoredKey, password: string): Promise<Uint8Array>
  /** The text of a local key's file, which is encrypted. @throws ConfigError when there is no secret in it */
  encrypted(key: StoredKey): string
  /** @throws ConfigError when the new name is invalid, or is taken */
  rename(key: StoredKey, name: string): void
  remove(key: StoredKey): void
}

/** Types of public keys that an Any may hold. */
const KEY_CONTEXT: JsonContext = {
  typeOf: (typeUrl) => ACCOUNT_KEY_TYPES.find((type) => type.typeUrl === typeUrl),
}

/** Converts a public key to JSON, with its `@type`. */
export function publicKeyToJson(key: AnyValue): Json {
  return anyCodec.toJson(key, KEY_CONTEXT)
}

/**
 * Reads a result of `publicKeyToJson`, and the key with its address.
 * @throws ConfigError when it is not the public key of an account
 */
export function publicKeyFromJson(json: unknown): { readonly any: AnyValue; readonly key: PublicKey } {
  try {
    const any = anyCodec.fromJson(json as Json, KEY_CONTEXT, '')
    return { any, key: publicKeyIn(any) }
  } catch (error) {
    if (error instanceof JsonFormError) throw new ConfigError(`not a public key in JSON: ${error.message}`)
    throw error
  }
}

/** @throws ConfigError when it is not the public key of an account */
export function publicKeyIn(any: AnyValue): PublicKey {
  const key = readPublicKey(any, { keys: MAX_KEYS })
  if (isSdkError(key)) throw new ConfigError(`not an account's public key: ${key.message}`)
  return key
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Cost of trying one password: geth's default, about a second. */
const SCRYPT_ROUNDS = 262_144

/** Loads the wallet library when a key is used: starting a node does not need it. */
async function loadWallet(): Promise<typeof Wallet> {
  return (await import('@ethereumjs/wallet')).Wallet
}

/** @param scryptRounds a power of two; less than the default only where there is no secret to protect */
export function openKeystore(directory: string, scryptRounds = SCRYPT_ROUNDS): Keystore {
  const pathOf = ({ name }: Pick<StoredKey, 'name'>): string => join(directory, `${name}.json`)

  const keystore: Keystore = {
    directory,
    list: () => {
      if (!existsSync(directory)) return []
      const names = readdirSync(directory).filter((file) => file.endsWith('.json'))
      return names.sort().map((file) => {
        const name = file.slice(0, -'.json'.length)
        return readStoredKey(join(directory, file), name)
      })
    },

    find: (nameOrAddress) => {
      // A key is found by its name even when other files of the directory cannot be read.
      const path = pathOf({ name: nameOrAddress })
      if (NAME.test(nameOrAddress) && existsSync(path)) {
        return readStoredKey(path, nameOrAddress)
      }
      const keys = keystore.list()
      const address = addressIn(nameOrAddress)
      const found = keys.find(
        (key) => key.name === nameOrAddress || (address !== undefined && equalBytes(key.address, address)),
      )
      if (found !== undefined) return found
      const known = keys.length === 0 ? 'it is empty' : `it has ${keys.map(({ name }) => name).join(', ')}`
      throw new ConfigError(`there is no key ${nameOrAddress} in ${directory}: ${known}`)
    },

    addressOf: (nameOrAddress) => addressIn(nameOrAddress) ?? keystore.find(nameOrAddress).address,

    checkName: (name) => {
      if (!NAME.test(name)) {
        throw new ConfigError(`${name} cannot name a key: use up to 64 letters, digits, dots, dashes and underscores`)
      }
      if (existsSync(pathOf({ name }))) throw new ConfigError(`${directory} already has a key ${name}`)
    },

    add: async (name, privateKey, password) => {
      const { address, ...single } = keyOf({ privateKey })
      const key: StoredKey = {
        name,
        address,
        kind: 'local',
        publicKey: publicKeyToAny({ address, ...single }),
        hdPath: undefined,
      }
      checkNew(key)
      const wallet = (await loadWallet()).fromPrivateKey(privateKey)
      write(key, await wallet.toV3(password, { kdf: 'scrypt', n: scryptRounds, r: 8, p: 1 }))
      return key
    },

    addPublic: (name, { kind, publicKey, hdPath }) => {
      const key: StoredKey = { name, address: publicKeyIn(publicKey).address, kind, publicKey, hdPath }
      checkNew(key)
      write(key, { kind, ...(hdPath === undefined ? {} : { hd_path: hdPath }) })
      return key
    },

    decrypt: async (text, password, path) => {
      try {
        // Some wallets write the field names in capitals.
        return (await (await loadWallet()).fromV3(text.toLowerCase(), password)).getPrivateKey()
      } catch (error) {
        throw new ConfigError(`cannot open ${path} (${(error as Error).message}): check the password`)
      }
    },

    open: async (key, password) => {
      const privateKey = await keystore.decrypt(keystore.encrypted(key), password, pathOf(key))
      if (!equalBytes(keyOf({ privateKey }).address, key.address)) {
        throw new ConfigError(`${pathOf(key)} is damaged: its key does not match its address`)
      }
      return privateKey
    },

    encrypted: (key) => {
      if (key.kind !== 'local') throw new ConfigError(`${key.name} has no secret here: ${WHO_SIGNS[key.kind]}`)
      return readFileSync(pathOf(key), 'utf8')
    },

    rename: (key, name) => {
      keystore.checkName(name)
      renameSync(pathOf(key), pathOf({ name }))
      syncDirectory(directory)
    },

    remove: (key) => {
      rmSync(pathOf(key))
      syncDirectory(directory)
    },
  }

  function checkNew({ name, address }: StoredKey): void {
    keystore.checkName(name)
    const existing = keystore.list().find((other) => equalBytes(other.address, address))
    if (existing === undefined) return
    throw new ConfigError(`${directory} already has this key under the name ${existing.name}`)
  }

  function write(key: StoredKey, content: object): void {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const file = {
      address: bytesToHex(key.address).slice(2),
      public_key: key.publicKey && publicKeyToJson(key.publicKey),
      ...content,
    }
    writeFileDurably(pathOf(key), `${JSON.stringify(file, null, 2)}\n`, 0o600)
  }
  return keystore
}

const WHO_SIGNS: Readonly<Record<Exclude<KeyKind, 'local'>, string>> = {
  ledger: 'a Ledger signs for it',
  multi: 'its members sign with coind tx sign --multisig, and coind tx multisign combines the signatures',
  offline: 'only its public key is stored; sign on the machine that has the key',
}

/** @throws ConfigError when the file is not a keystore that names its address */
function readStoredKey(path: string, name: string): StoredKey {
  try {
    const file = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, unknown>>
    const kind = Object.hasOwn(WHO_SIGNS, String(file['kind'])) ? (file['kind'] as PublicEntry['kind']) : 'local'
    return {
      name,
      address: parseAddress(`0x${String(file['address']).replace(/^0x/i, '')}`),
      kind,
      publicKey: file['public_key'] === undefined ? undefined : publicKeyFromJson(file['public_key']).any,
      hdPath: file['hd_path'] === undefined ? undefined : String(file['hd_path']),
    }
  } catch (cause) {
    const why = (cause as Error).message
    throw new ConfigError(`${path} is not a keystore file with an address (${why}): move it elsewhere`)
  }
}

function addressIn(text: string): Address | undefined {
  try {
    return parseAddress(text)
  } catch {
    // It is a name then.
    return undefined
  }
}
