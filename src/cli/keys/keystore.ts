import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Wallet } from '@ethereumjs/wallet'
import { ConfigError } from '../../config/configError.ts'
import { type Address, parseAddress } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { writeFileDurably } from '../../storage/writeFileDurably.ts'

/** A key of the keystore, without its secret. */
export interface StoredKey {
  readonly name: string
  readonly address: Address
}

/**
 * Keys of an operator or holder on this machine, each in a file of its own: `<name>.json`, Ethereum's encrypted keystore (Web3 v3),
 * which geth, MetaMask and others read and write too. The node never reads it.
 */
export interface Keystore {
  readonly directory: string
  /** in order of their names */
  list(): readonly StoredKey[]
  /** by name or by address in either encoding. @throws ConfigError when there is none */
  find(nameOrAddress: string): StoredKey
  /** The address in the text, or of the key that it names. @throws ConfigError when it is neither */
  addressOf(nameOrAddress: string): Address
  /** @throws ConfigError when no new key can have this name */
  checkName(name: string): void
  /** @throws ConfigError when the name or the key is there already */
  add(name: string, privateKey: Uint8Array, password: string): Promise<StoredKey>
  /** The private key, 32 bytes. @throws ConfigError when the password is wrong or the file is damaged */
  open(key: StoredKey, password: string): Promise<Uint8Array>
  remove(key: StoredKey): void
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** What it costs to try one password: geth's default, about a second. */
const SCRYPT_ROUNDS = 262_144

/** Loaded when a key is used: starting a node needs none of it. */
async function loadWallet(): Promise<typeof Wallet> {
  return (await import('@ethereumjs/wallet')).Wallet
}

/** @param scryptRounds a power of two; less than the default only where nothing is to be kept secret */
export function openKeystore(directory: string, scryptRounds = SCRYPT_ROUNDS): Keystore {
  const pathOf = ({ name }: Pick<StoredKey, 'name'>): string => join(directory, `${name}.json`)

  const keystore: Keystore = {
    directory,
    list: () => {
      if (!existsSync(directory)) return []
      const names = readdirSync(directory).filter((file) => file.endsWith('.json'))
      return names.sort().map((file) => {
        const name = file.slice(0, -'.json'.length)
        return { name, address: readStoredAddress(join(directory, file)) }
      })
    },

    find: (nameOrAddress) => {
      // A key is found by its name even when other files of the directory cannot be read.
      const path = pathOf({ name: nameOrAddress })
      if (NAME.test(nameOrAddress) && existsSync(path)) {
        return { name: nameOrAddress, address: readStoredAddress(path) }
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
      if (existsSync(pathOf({ name }))) throw new ConfigError(`${directory} has a key ${name} already`)
    },

    add: async (name, privateKey, password) => {
      keystore.checkName(name)
      const wallet = (await loadWallet()).fromPrivateKey(privateKey)
      const key = { name, address: wallet.getAddress() }
      const existing = keystore.list().find((other) => equalBytes(other.address, key.address))
      if (existing !== undefined)
        throw new ConfigError(`${directory} has this key under the name ${existing.name} already`)
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      const file = {
        address: bytesToHex(key.address).slice(2),
        ...(await wallet.toV3(password, { kdf: 'scrypt', n: scryptRounds, r: 8, p: 1 })),
      }
      writeFileDurably(pathOf(key), `${JSON.stringify(file, null, 2)}\n`, 0o600)
      return key
    },

    open: async (key, password) => {
      const text = readFileSync(pathOf(key), 'utf8')
      let wallet: Wallet
      try {
        // Some wallets write the field names in capitals.
        wallet = await (await loadWallet()).fromV3(text.toLowerCase(), password)
      } catch (error) {
        throw new ConfigError(`${pathOf(key)} cannot be opened (${(error as Error).message}): is the password right?`)
      }
      if (!equalBytes(wallet.getAddress(), key.address)) {
        throw new ConfigError(`${pathOf(key)} is damaged: it holds another key than that of its address`)
      }
      return wallet.getPrivateKey()
    },

    remove: (key) => rmSync(pathOf(key)),
  }
  return keystore
}

/** @throws ConfigError when the file is no keystore that names its address */
function readStoredAddress(path: string): Address {
  try {
    const { address } = JSON.parse(readFileSync(path, 'utf8')) as { readonly address: unknown }
    return parseAddress(`0x${String(address).replace(/^0x/i, '')}`)
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
