// Hardhat's Ignition deploys two contracts and calls one of them; a second run does nothing. Then viem's plugin talks to them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { network } from 'hardhat'

const DEPLOYMENT = `ignition/deployments/chain-${process.env.CHAIN_ID}`
rmSync('ignition/deployments', { recursive: true, force: true })

function deploy() {
  const args = ['ignition', 'deploy', 'ignition/modules/Shop.js', '--network', 'devnet']
  const env = { ...process.env, HARDHAT_IGNITION_CONFIRM_DEPLOYMENT: 'true', HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/hardhat', args, { encoding: 'utf8', env })
  assert.equal(status, 0, stdout + stderr)
  return stdout
}

const { viem } = await network.create('devnet')
const client = await viem.getPublicClient()
const [wallet] = await viem.getWalletClients()
const nonce = () => client.getTransactionCount({ address: wallet.account.address })

deploy()
const addresses = JSON.parse(readFileSync(`${DEPLOYMENT}/deployed_addresses.json`, 'utf8'))
const before = await nonce()
deploy()
assert.equal(await nonce(), before)
console.log('Ignition: two contracts and a call; a second run sends nothing')

const stock = await viem.getContractAt('Stock', addresses['Shop#Stock'])
const shop = await viem.getContractAt('Shop', addresses['Shop#Shop'])
assert.equal(await stock.read.left(), 93n)
assert.equal(await client.getBalance({ address: shop.address }), 5n)
const { status } = await client.waitForTransactionReceipt({ hash: await shop.write.buy([3n], { value: 1n }) })
assert.equal(status, 'success')
assert.equal(await stock.read.left(), 90n)
await assert.rejects(shop.write.buy([1_000n]), /revert|Panic|overflow/i)
assert.equal((await shop.getEvents.Sold({}, { fromBlock: 0n })).length, 2)
console.log('hardhat-viem: reads, a transaction, a failing one, events')
