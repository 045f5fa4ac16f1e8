// A bundler includes a UserOperation through EntryPoint 0.7, which the genesis has; ends with 1 at the first answer that is not as expected.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSmartAccountClient } from 'permissionless'
import { toSimpleSmartAccount } from 'permissionless/accounts'
import { createPimlicoClient } from 'permissionless/clients/pimlico'
import { createPublicClient, createWalletClient, defineChain, http, parseEther, toHex } from 'viem'
import { entryPoint07Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const { RPC_URL, CHAIN_ID, PRIVATE_KEY } = process.env
const chain = defineChain({
  id: Number(CHAIN_ID),
  name: 'devnet',
  nativeCurrency: { name: 'COIN', symbol: 'COIN', decimals: 18 },
  rpcUrls: { default: { http: [RPC_URL] } },
})
const payer = privateKeyToAccount(PRIVATE_KEY)
const wallet = createWalletClient({ account: payer, chain, transport: http() })
const reader = createPublicClient({ chain, transport: http(), pollingInterval: 200 })
const [executor, utility] = [generatePrivateKey(), generatePrivateKey()]

const send = async (request) => reader.waitForTransactionReceipt({ hash: await wallet.sendTransaction(request) })
for (const key of [executor, utility]) await send({ to: privateKeyToAccount(key).address, value: parseEther('100') })
const factory = createRequire(import.meta.url)('@account-abstraction/contracts/artifacts/SimpleAccountFactory.json')
const { contractAddress } = await reader.waitForTransactionReceipt({
  hash: await wallet.deployContract({ ...factory, args: [entryPoint07Address] }),
})

await include()

async function include() {
  const port = process.env.PORT
  const flags = {
    entrypoints: entryPoint07Address,
    'rpc-url': RPC_URL,
    'executor-private-keys': executor,
    'utility-private-key': utility,
    // Its tracer's answer is geth's, but this release cannot decode that of EntryPoint 0.7.
    'safe-mode': false,
    'block-time': 400,
    port,
  }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const alto = spawn(process.execPath, ['node_modules/@pimlico/alto/esm/cli/alto.js', 'run', ...args])
  let log = ''
  for (const stream of [alto.stdout, alto.stderr]) stream.on('data', (chunk) => (log += chunk))
  const exited = once(alto, 'exit')
  try {
    await untilServing(port, alto)
    await bundle(port)
    console.log('two UserOperations are estimated, sent and included, the first creates the account')
  } catch (error) {
    console.error(log.slice(-8_000))
    throw error
  } finally {
    alto.kill('SIGKILL')
    await exited
  }
}

async function bundle(port) {
  const transport = http(`http://127.0.0.1:${port}/rpc`)
  const entryPoint = { address: entryPoint07Address, version: '0.7' }
  const owner = privateKeyToAccount(generatePrivateKey())
  const account = await toSimpleSmartAccount({ client: reader, owner, entryPoint, factoryAddress: contractAddress })
  await send({ to: account.address, value: parseEther('10') })
  const pimlico = createPimlicoClient({ chain, transport, entryPoint })
  assert.deepEqual(await pimlico.getSupportedEntryPoints(), [entryPoint07Address])
  const client = createSmartAccountClient({
    account,
    chain,
    bundlerTransport: transport,
    userOperation: { estimateFeesPerGas: async () => (await pimlico.getUserOperationGasPrice()).fast },
  })
  const to = privateKeyToAccount(generatePrivateKey()).address
  // The first one also creates the account.
  for (const value of [parseEther('1'), parseEther('2')]) {
    const before = await reader.getBalance({ address: to })
    const hash = await client.sendUserOperation({ calls: [{ to, value, data: toHex('hi') }] })
    const { success, receipt } = await client.waitForUserOperationReceipt({
      hash,
      timeout: 60_000,
      pollingInterval: 300,
    })
    assert.equal(success, true)
    assert.equal(receipt.status, 'success')
    assert.equal(await reader.getBalance({ address: to }), before + value)
    const found = await client.getUserOperation({ hash })
    assert.equal(found.userOperation.sender, account.address)
  }
}

async function untilServing(port, child) {
  while (child.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
    if (answer?.ok) return
    await sleep(200)
  }
  throw new Error(`alto ended with ${child.exitCode}`)
}
