import { z } from 'zod'
import { ConfigError } from '../config/configError.ts'
import { bytesToHex, equalBytes, hexToBytes } from '../primitives/bytes.ts'
import { type Ed25519Key, ed25519Address, ed25519Key } from '../primitives/ed25519.ts'
import {
  privateKeyFromJSON,
  privateKeySchema,
  privateKeyToJSON,
  readJsonFile,
  readKeyFile,
  writeKeyFile,
} from './keyFile.ts'

export interface ValidatorKey extends Ed25519Key {
  /** 20 bytes */
  readonly address: Uint8Array
}

const publicKeySchema = z.object({
  type: z.literal('tendermint/PubKeyEd25519'),
  value: z.base64().length(44, 'expected the base64 of 32 bytes'),
})

/** CometBFT's priv_validator_key.json (privval/file.go). */
const schema = z.object({
  address: z.string().regex(/^[0-9A-F]{40}$/, 'expected 40 upper-case hex digits'),
  pub_key: publicKeySchema,
  priv_key: privateKeySchema,
})

/** Returns the validator key with this 32-byte seed. */
export function validatorKey(seed: Uint8Array): ValidatorKey {
  const key = ed25519Key(seed)
  return { ...key, address: ed25519Address(key.publicKey) }
}

/**
 * Reads priv_validator_key.json; an existing one is used as it is.
 * @returns undefined when there is no file
 * @throws ConfigError for one that is malformed, inconsistent, or that other users may read
 */
export function loadValidatorKey(path: string): ValidatorKey | undefined {
  const json = readKeyFile(path, schema)
  if (json === undefined) return undefined
  const key = privateKeyFromJSON(json.priv_key, path)
  const address = ed25519Address(key.publicKey)
  const publicKey = Buffer.from(json.pub_key.value, 'base64')
  if (!equalBytes(key.publicKey, publicKey) || !equalBytes(address, hexToBytes(json.address))) {
    throw new ConfigError(`${path}: address, pub_key and priv_key do not belong together, restore it from a backup`)
  }
  return { ...key, address }
}

/**
 * Creates the key with this seed (32 random bytes) and its file, mode 0600.
 * @throws ConfigError when the file exists already
 */
export function createValidatorKey(path: string, seed: Uint8Array): ValidatorKey {
  const key = validatorKey(seed)
  writeKeyFile(path, formatValidatorKey(key))
  return key
}

/** Returns the file's text, as CometBFT writes it. */
function formatValidatorKey(key: ValidatorKey): string {
  return JSON.stringify({ ...formatPublicKey(key.publicKey), priv_key: privateKeyToJSON(key) }, undefined, 2)
}

/** Address and public key, as in that file. */
export function formatPublicKey(publicKey: Uint8Array) {
  return {
    address: bytesToHex(ed25519Address(publicKey)).slice(2).toUpperCase(),
    pub_key: { type: 'tendermint/PubKeyEd25519', value: Buffer.from(publicKey).toString('base64') },
  }
}

const publicSchema = z.object({ pub_key: publicKeySchema })

/**
 * Reads a file that {@link formatPublicKey} has made.
 * @returns ed25519, 32 bytes; undefined when there is no file
 * @throws ConfigError for one that is malformed
 */
export function loadPublicKey(path: string): Uint8Array | undefined {
  const json = readJsonFile(path, publicSchema)
  return json && new Uint8Array(Buffer.from(json.pub_key.value, 'base64'))
}
