import { type Chain, defineChain, getAddress, type Hex, parseAbi } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { compileContract } from '../../contracts/compile.ts'
import { DEVNET_ACCOUNTS } from '../../src/cli/devnetAccounts.ts'

export const CHAIN_ID = 76287
/** ERC-20 face of the native token */
export const NATIVE_TOKEN = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
export const COIN = 10n ** 18n
export const GWEI = 10n ** 9n

/** Private keys of the funded accounts of a devnet. */
export const KEYS: readonly Hex[] = DEVNET_ACCOUNTS.map(({ privateKey }) => privateKey as Hex)

/** The funded accounts of a devnet; the first is the genesis wallet. */
export const ACCOUNTS: readonly PrivateKeyAccount[] = KEYS.map((key) => privateKeyToAccount(key))

/** An account that nobody has used before, with its checksum. */
export function freshAddress(): Hex {
  return getAddress(`0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString('hex')}`)
}

/** The chain as viem wants it described. */
export function viemChain(url: string): Chain {
  return defineChain({
    id: CHAIN_ID,
    name: 'devnet',
    nativeCurrency: { name: 'COIN', symbol: 'COIN', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    blockTime: 400,
  })
}

export const ERC20_ABI = parseAbi([
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function transferFrom(address from, address to, uint256 value) returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InvalidReceiver(address receiver)',
])

/** contracts/test/Vault.sol, in the notation that viem and ethers read. */
export const VAULT_SIGNATURES = [
  'constructor(uint256 firstNumber) payable',
  'function deposit(string note) payable',
  'function withdraw(uint256 amount)',
  'function refuse() pure',
  'function divide(uint256 a, uint256 b) pure returns (uint256)',
  'function work(uint256 gasLeft)',
  'function deposits(address account) view returns (uint256)',
  'function count() view returns (uint256)',
  'event Deposited(address indexed from, uint256 indexed number, uint256 amount, string note)',
  'error InsufficientDeposit(address account, uint256 held, uint256 wanted)',
] as const
export const VAULT_ABI = parseAbi(VAULT_SIGNATURES)

/** Code that creates a Vault. */
export function vaultBytecode(): Hex {
  return compileContract('test/Vault.sol', 'Vault').bytecode
}
