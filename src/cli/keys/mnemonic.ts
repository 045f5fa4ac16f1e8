import { ConfigError } from '../../config/configError.ts'

/** Loaded when a key is made: starting a node needs no list of words. */
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
 * The private key at m/44'/60'/0'/0/`index`, as MetaMask and Keplr (coin type 60) derive it.
 * @throws ConfigError when the words are no mnemonic
 */
export async function keyOfMnemonic(text: string, index: number): Promise<Uint8Array> {
  const { mnemonicToSeedSync, validateMnemonic, wordlist } = await loadBip39()
  const { HDKey } = await import('@scure/bip32')
  const mnemonic = text.trim().toLowerCase().split(/\s+/).join(' ')
  if (!validateMnemonic(mnemonic, wordlist)) {
    throw new ConfigError('this is not a mnemonic of 12 to 24 English words with a right checksum (BIP-39)')
  }
  const { privateKey } = HDKey.fromMasterSeed(mnemonicToSeedSync(mnemonic)).derive(`m/44'/60'/0'/0/${index}`)
  if (privateKey === null) throw new ConfigError(`this mnemonic has no key ${index}: take another index`)
  return privateKey
}
