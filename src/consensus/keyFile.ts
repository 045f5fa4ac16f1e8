import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import { ConfigError } from '../config/configError.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { type Ed25519Key, ed25519Key } from '../primitives/ed25519.ts'
import { writeFileDurably } from '../storage/writeFileDurably.ts'

/** An ed25519 private key as CometBFT writes it in JSON: base64 of seed and public key, 64 bytes. */
export const privateKeySchema = z.object({
  type: z.literal('tendermint/PrivKeyEd25519'),
  value: z.base64(),
})

export function privateKeyToJSON(key: Pick<Ed25519Key, 'seed' | 'publicKey'>): z.infer<typeof privateKeySchema> {
  const value = Buffer.concat([key.seed, key.publicKey]).toString('base64')
  return { type: 'tendermint/PrivKeyEd25519', value }
}

/** @throws ConfigError when the value is not a seed with its public key */
export function privateKeyFromJSON(json: z.infer<typeof privateKeySchema>, path: string): Ed25519Key {
  const bytes = new Uint8Array(Buffer.from(json.value, 'base64'))
  if (bytes.length !== 64) throw new ConfigError(`${path}: priv_key.value has ${bytes.length} bytes, expected 64`)
  const key = ed25519Key(bytes.slice(0, 32))
  if (!equalBytes(key.publicKey, bytes.subarray(32))) {
    throw new ConfigError(`${path}: the two halves of priv_key.value do not belong together, restore it from a backup`)
  }
  return key
}

/**
 * Reads a file with a private key. Error messages never contain its content.
 * @returns undefined when there is no such file
 * @throws ConfigError when it cannot be read, other users may read it, or it does not match the schema
 */
export function readKeyFile<T>(path: string, schema: z.ZodType<T>): T | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats !== undefined && (stats.mode & 0o077) !== 0) {
    const shown = (stats.mode & 0o777).toString(8).padStart(4, '0')
    throw new ConfigError(`${path} holds a private key and is open to other users (mode ${shown}): run chmod 600 on it`)
  }
  return readJsonFile(path, schema)
}

/**
 * Reads a file of the directory for configuration and keys.
 * @returns undefined when there is no such file
 * @throws ConfigError when it cannot be read, or does not match the schema
 */
export function readJsonFile<T>(path: string, schema: z.ZodType<T>): T | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new ConfigError(`${path} cannot be read (${code ?? 'unknown error'})`)
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new ConfigError(`${path} is not JSON: restore it from a backup, or move it away to get a new key`)
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  throw new ConfigError(`${path}: ${issue.path.join('.') || 'content'}: ${issue.message}`)
}

/**
 * Writes a key file that only its owner may read. After a crash the whole file exists or no part.
 * @throws ConfigError when there is one already
 */
export function writeKeyFile(path: string, text: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) throw new ConfigError(`${path} exists already`)
  writeFileDurably(path, text, 0o600)
}
