import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import {
  privateKeyFromJSON,
  privateKeySchema,
  privateKeyToJSON,
  readKeyFile,
  writeKeyFile,
} from '../consensus/keyFile.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import { ED25519_KEY_LENGTH, type Ed25519Key, ed25519Address, ed25519Key } from '../primitives/ed25519.ts'

/** The key that identifies a node in the network. */
export interface NodeKey extends Ed25519Key {
  /** CometBFT's node ID: lower-case hex of sha256(public key)[:20] */
  readonly id: string
}

/** CometBFT's node_key.json (p2p/key.go). */
const schema = z.object({ priv_key: privateKeySchema })

/**
 * Reads node_key.json; an existing one is used as it is.
 * @returns undefined when there is no file
 * @throws ConfigError for one that is malformed, or that other users may read
 */
export function loadNodeKey(path: string): NodeKey | undefined {
  const json = readKeyFile(path, schema)
  return json === undefined ? undefined : withId(privateKeyFromJSON(json.priv_key, path))
}

/**
 * Creates the key with this seed (32 random bytes) and its file, mode 0600.
 * @throws ConfigError when the file exists already
 */
export function createNodeKey(path: string, seed: Uint8Array): NodeKey {
  const key = withId(ed25519Key(seed))
  writeKeyFile(path, formatNodeKey(key))
  return key
}

/**
 * Returns the node's identity towards peers; it is made, with its directory, where there is no
 * file.
 * @throws ConfigError for a file that is malformed, or that other users may read
 */
export function loadOrCreateNodeKey(path: string): NodeKey {
  const key = loadNodeKey(path)
  if (key !== undefined) return key
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return createNodeKey(path, randomBytes(ED25519_KEY_LENGTH))
}

/** Returns the file's text, as CometBFT writes it. */
function formatNodeKey(key: Ed25519Key): string {
  return JSON.stringify({ priv_key: privateKeyToJSON(key) })
}

function withId(key: Ed25519Key): NodeKey {
  return { ...key, id: nodeId(key.publicKey) }
}

/** Returns the ID of the node with this ed25519 public key. */
export function nodeId(publicKey: Uint8Array): string {
  return bytesToHex(ed25519Address(publicKey)).slice(2)
}
