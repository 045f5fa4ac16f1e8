import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../../src/config/configError.ts'
import { bytesToBigInt, bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import {
  decompressPublicKey,
  privateToPublicKey,
  publicKeyToAddress,
  SECP256K1_ORDER,
} from '../../src/primitives/secp256k1.ts'

/** The account that pays. */
export interface FaucetKey {
  /** 20 bytes */
  readonly address: Uint8Array
  /** never logged, never in a message */
  readonly privateKey: Uint8Array
}

/**
 * The key in the file at `path`: 64 hex digits. A file that does not exist is made, with a new key.
 * @throws ConfigError when others than its owner can read it, or it holds something else
 */
export function loadFaucetKey(path: string): FaucetKey {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new ConfigError(`cannot read the faucet's key (EXPLORER_FAUCET_KEY_FILE): ${(error as Error).message}`)
    }
    return createKey(path)
  }
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new ConfigError(`users other than its owner can read the faucet's key: run chmod 600 ${path}`)
  }
  const privateKey = /^(0x)?[0-9a-f]{64}$/i.test(text)
    ? hexToBytes(text.startsWith('0x') ? text : `0x${text}`)
    : undefined
  if (privateKey === undefined || !isPrivateKey(privateKey)) {
    throw new ConfigError(
      `${path} does not hold a faucet's key of 64 hex digits: set EXPLORER_FAUCET_KEY_FILE to another file, or to one that does not exist to create a key`,
    )
  }
  return keyOf(privateKey)
}

function createKey(path: string): FaucetKey {
  let privateKey: Uint8Array
  do privateKey = new Uint8Array(randomBytes(32))
  while (!isPrivateKey(privateKey))
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, `${bytesToHex(privateKey).slice(2)}\n`, { mode: 0o600, flag: 'wx', flush: true })
  return keyOf(privateKey)
}

function isPrivateKey(bytes: Uint8Array): boolean {
  const key = bytesToBigInt(bytes)
  return key > 0n && key < SECP256K1_ORDER
}

function keyOf(privateKey: Uint8Array): FaucetKey {
  return { privateKey, address: publicKeyToAddress(decompressPublicKey(privateToPublicKey(privateKey))!) }
}
