import { ConfigError } from '../../config/configError.ts'

/** Loads the list of words when a key is made: starting a node does not need it. */
async function loadBip39() {
  const [bip39, { wordlist }] = await Promise.all([import('@scure/bip39'), import('@scure/bip39/wordlists/english.js')])
  return { ...bip39, wordlist }
}

/** Bits of randomness of a new mnemonic: 24 words. */
const ENTROPY_BITS = 256

export async function createMnemonic(): Promise<string> {
  const { generateMnemonic, wordlist } = await loadBip39()
  return generateMnemonic(wordlist, ENTROPY_BITS)
}

/**
 * Returns the path at which MetaMask, Ledger and Keplr (coin type 60) have the key with this number
 * of an account (BIP-44).
 */
export function hdPath(index: number, account = 0): string {
  return `m/44'/60'/${account}'/0/${index}`
}

/**
 * Returns the private key at a path, like that of {@link hdPath}.
 * @throws ConfigError when the words are not a mnemonic
 */
export async function keyOfMnemonic(text: string, path: string): Promise<Uint8Array> {
  const { mnemonicToSeedSync, validateMnemonic, wordlist } = await loadBip39()
  const { HDKey } = await import('@scure/bip32')
  const mnemonic = text.trim().toLowerCase().split(/\s+/).join(' ')
  if (!validateMnemonic(mnemonic, wordlist)) {
    throw new ConfigError('not a valid mnemonic: enter 12 to 24 English words with a correct checksum (BIP-39)')
  }
  const { privateKey } = HDKey.fromMasterSeed(mnemonicToSeedSync(mnemonic)).derive(path)
  if (privateKey === null) throw new ConfigError(`this mnemonic has no key at ${path}: choose another index`)
  return privateKey
}
