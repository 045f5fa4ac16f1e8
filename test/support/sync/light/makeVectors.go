// Writes vectors.json with CometBFT's own light client, byte for byte the same each time. In an empty directory:
//
//	cp …/makeVectors.go . && go mod init vectors && go get github.com/cometbft/cometbft@v0.38.19 && go mod tidy
//	go run . > …/vectors.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/crypto/tmhash"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
	"github.com/cometbft/cometbft/light/store/db"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	cmtversion "github.com/cometbft/cometbft/proto/tendermint/version"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/cometbft/cometbft/types"
	"github.com/cometbft/cometbft/version"
)

const (
	chainID = "coin_76287-1"
	period  = time.Hour
	drift   = 10 * time.Second
)

var genesis = time.UnixMilli(1_790_000_000_000).UTC()

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func key(i int) crypto.PrivKey {
	return ed25519.GenPrivKeyFromSecret([]byte(fmt.Sprintf("validator %d", i)))
}

func hash(s string) []byte { return tmhash.Sum([]byte(s)) }

// member is a validator: number of its key, power.
type member struct {
	key   int
	power int64
}

// equal gives validators of power 10.
func equal(keys ...int) []member {
	members := make([]member, len(keys))
	for i, k := range keys {
		members[i] = member{k, 10}
	}
	return members
}

func setOf(members []member) *types.ValidatorSet {
	vals := make([]*types.Validator, len(members))
	for i, m := range members {
		vals[i] = types.NewValidator(key(m.key).PubKey(), m.power)
	}
	return types.NewValidatorSet(vals)
}

// recipe says how a light block is made; zero values are the honest ones.
type recipe struct {
	height       int64
	after        time.Duration // of the genesis time
	vals, next   []member
	absent, nils []int // keys
	chain        string
	edit         func(*types.LightBlock)
}

func (r recipe) make() *types.LightBlock {
	if r.next == nil {
		r.next = r.vals
	}
	if r.chain == "" {
		r.chain = chainID
	}
	set := setOf(r.vals)
	last := types.BlockID{}
	if r.height > 1 {
		last = types.BlockID{Hash: hash("last"), PartSetHeader: types.PartSetHeader{Total: 1, Hash: hash("last parts")}}
	}
	header := &types.Header{
		Version:            cmtversion.Consensus{Block: version.BlockProtocol},
		ChainID:            r.chain,
		Height:             r.height,
		Time:               genesis.Add(r.after),
		LastBlockID:        last,
		LastCommitHash:     hash("commit"),
		DataHash:           hash("data"),
		ValidatorsHash:     set.Hash(),
		NextValidatorsHash: setOf(r.next).Hash(),
		ConsensusHash:      hash("params"),
		AppHash:            hash("app"),
		LastResultsHash:    hash("results"),
		EvidenceHash:       hash("evidence"),
		ProposerAddress:    set.Validators[0].Address,
	}
	id := types.BlockID{Hash: header.Hash(), PartSetHeader: types.PartSetHeader{Total: 1, Hash: hash("parts")}}
	sigs := make([]types.CommitSig, len(r.vals))
	for i := range sigs {
		sigs[i] = types.NewCommitSigAbsent()
	}
	for _, m := range r.vals {
		if has(r.absent, m.key) {
			continue
		}
		index, val := set.GetByAddress(key(m.key).PubKey().Address())
		vote := &types.Vote{
			Type: cmtproto.PrecommitType, Height: r.height, Round: 1, BlockID: id, Timestamp: header.Time.Add(time.Second),
			ValidatorAddress: val.Address, ValidatorIndex: index,
		}
		if has(r.nils, m.key) {
			vote.BlockID = types.BlockID{}
		}
		vote.Signature = must(key(m.key).Sign(types.VoteSignBytes(r.chain, vote.ToProto())))
		sigs[index] = vote.CommitSig()
	}
	block := &types.LightBlock{
		SignedHeader: &types.SignedHeader{
			Header: header,
			Commit: &types.Commit{Height: r.height, Round: 1, BlockID: id, Signatures: sigs},
		},
		ValidatorSet: set,
	}
	if r.edit != nil {
		r.edit(block)
	}
	return block
}

func has(keys []int, key int) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}

// encode leaves out what is in no hash: proposer and priorities.
func encode(block *types.LightBlock) []byte {
	pb := must(block.ToProto())
	pb.ValidatorSet.Proposer = nil
	pb.ValidatorSet.TotalVotingPower = 0
	for _, val := range pb.ValidatorSet.Validators {
		val.ProposerPriority = 0
	}
	return must(pb.Marshal())
}

type verifyCase struct {
	Name      string `json:"name"`
	Trusted   []byte `json:"trusted"`
	Untrusted []byte `json:"untrusted"`
	NowMs     int64  `json:"nowMs"`
	Verdict   string `json:"verdict"`
}

func verdict(err error) string {
	var expired light.ErrOldHeaderExpired
	var distrusted light.ErrNewValSetCantBeTrusted
	switch {
	case err == nil:
		return "valid"
	case errors.As(err, &expired):
		return "expired"
	case errors.As(err, &distrusted):
		return "distrusted"
	default:
		return "invalid"
	}
}

func verifyCases() []verifyCase {
	four := equal(0, 1, 2, 3)
	trusted := recipe{height: 10, after: time.Minute, vals: four}
	at := func(height int64, vals []member) recipe {
		return recipe{height: height, after: time.Duration(height) * 6 * time.Second, vals: vals}
	}
	with := func(r recipe, change func(*recipe)) recipe { change(&r); return r }
	breakSig := func(index int) func(*types.LightBlock) {
		return func(b *types.LightBlock) { b.Commit.Signatures[index].Signature[5] ^= 1 }
	}
	// The signature of one validator at the place of another.
	repeat := func(b *types.LightBlock) { b.Commit.Signatures[1] = b.Commit.Signatures[0] }
	now := genesis.Add(30 * time.Minute)
	expiry := genesis.Add(time.Minute + period)
	cases := []struct {
		name    string
		trusted recipe
		new     recipe
		now     time.Time
	}{
		{"the next header", trusted, at(11, four), now},
		{"a later header", trusted, at(12, four), now},
		{"the next header of announced validators", with(trusted, func(r *recipe) { r.next = equal(7, 8, 9) }), at(11, equal(7, 8, 9)), now},
		{"the next header of other validators", trusted, at(11, equal(0, 1, 2, 4)), now},
		{"a later header, half of the trusted power", trusted, at(20, equal(0, 1, 7, 8)), now},
		{"a later header, a quarter of the trusted power", trusted, at(20, equal(0, 7, 8, 9)), now},
		{"a later header, exactly a third of the trusted power", with(trusted, func(r *recipe) { r.vals = equal(0, 1, 2) }), at(20, equal(0, 7, 8)), now},
		{"a later header, a validator over a third of the trusted power", with(trusted, func(r *recipe) { r.vals = []member{{0, 11}, {1, 10}, {2, 10}} }), at(20, equal(0, 7, 8, 9)), now},
		{"a later header, the powerful trusted validator absent", with(trusted, func(r *recipe) { r.vals = []member{{0, 11}, {1, 10}, {2, 10}} }), with(at(20, equal(0, 7, 8, 9)), func(r *recipe) { r.absent = []int{0} }), now},
		{"a later header, the powerful trusted validator voted nil", with(trusted, func(r *recipe) { r.vals = []member{{0, 11}, {1, 10}, {2, 10}} }), with(at(20, equal(0, 7, 8, 9)), func(r *recipe) { r.nils = []int{0} }), now},
		{"validators that never were", trusted, at(20, equal(7, 8, 9)), now},
		{"the next header of validators that never were", trusted, at(11, equal(7, 8, 9)), now},
		{"three of four signed", trusted, with(at(20, four), func(r *recipe) { r.absent = []int{1} }), now},
		{"half of the new power signed", trusted, with(at(20, four), func(r *recipe) { r.absent = []int{1, 2} }), now},
		{"exactly two thirds of the new power signed", trusted, with(at(20, equal(0, 1, 2)), func(r *recipe) { r.absent = []int{2} }), now},
		{"exactly two thirds, next header", with(trusted, func(r *recipe) { r.next = equal(0, 1, 2) }), with(at(11, equal(0, 1, 2)), func(r *recipe) { r.absent = []int{2} }), now},
		{"nil votes of half of the power", trusted, with(at(20, four), func(r *recipe) { r.nils = []int{1, 2} }), now},
		{"a nil vote of a quarter", trusted, with(at(20, four), func(r *recipe) { r.nils = []int{1} }), now},
		{"the last moment before the trusted header expires", trusted, at(20, four), expiry.Add(-time.Millisecond)},
		{"the moment when the trusted header expires", trusted, at(20, four), expiry},
		{"long after the trusted header expired, next header", trusted, at(11, four), expiry.Add(24 * time.Hour)},
		{"a header as far ahead of the clock as allowed", trusted, at(20, four), genesis.Add(2*time.Minute - drift + time.Millisecond)},
		{"a header from the future", trusted, at(20, four), genesis.Add(2*time.Minute - drift)},
		{"the next header from the future", trusted, at(11, four), genesis.Add(time.Minute - drift)},
		{"the trusted time again", trusted, with(at(20, four), func(r *recipe) { r.after = time.Minute }), now},
		{"a time before the trusted one", trusted, with(at(11, four), func(r *recipe) { r.after = time.Second }), now},
		{"the trusted height again", trusted, with(at(10, four), func(r *recipe) { r.after = 2 * time.Minute }), now},
		{"a lower height", trusted, with(at(9, four), func(r *recipe) { r.after = 2 * time.Minute }), now},
		{"another chain", trusted, with(at(20, four), func(r *recipe) { r.chain = "coin_1-1" }), now},
		{"validators that are not those of the header", trusted, with(at(20, four), func(r *recipe) {
			r.edit = func(b *types.LightBlock) { b.ValidatorSet = setOf(equal(0, 1, 2, 4)) }
		}), now},
		{"a header that was changed after it was signed", trusted, with(at(20, four), func(r *recipe) {
			r.edit = func(b *types.LightBlock) { b.Header.AppHash = hash("false") }
		}), now},
		{"a changed header with its own hash in the commit", trusted, with(at(20, four), func(r *recipe) {
			r.edit = func(b *types.LightBlock) { b.Header.AppHash = hash("false"); b.Commit.BlockID.Hash = b.Header.Hash() }
		}), now},
		{"a commit of another height", trusted, with(at(20, four), func(r *recipe) {
			r.edit = func(b *types.LightBlock) { b.Commit = at(19, four).make().Commit }
		}), now},
		{"a wrong first signature", trusted, with(at(20, four), func(r *recipe) { r.edit = breakSig(0) }), now},
		{"a wrong first signature, next header", trusted, with(at(11, four), func(r *recipe) { r.edit = breakSig(0) }), now},
		{"a signature twice", trusted, with(at(20, four), func(r *recipe) { r.edit = repeat }), now},
		{"a signature twice, next header", trusted, with(at(11, four), func(r *recipe) { r.edit = repeat }), now},
		{"a signature twice, which would exceed a third", with(trusted, func(r *recipe) { r.vals = equal(0, 1, 2, 3, 4) }), with(at(20, equal(0, 7, 8)), func(r *recipe) {
			r.edit = func(b *types.LightBlock) {
				index, _ := b.ValidatorSet.GetByAddress(key(0).PubKey().Address())
				for i := range b.Commit.Signatures {
					b.Commit.Signatures[i] = b.Commit.Signatures[index]
				}
			}
		}), now},
		{"an old set signed a header that names it", with(trusted, func(r *recipe) { r.vals = equal(4, 5, 6) }), at(20, four), now},
	}
	out := []verifyCase{}
	for _, c := range cases {
		a, b := c.trusted.make(), c.new.make()
		err := light.Verify(a.SignedHeader, a.ValidatorSet, b.SignedHeader, b.ValidatorSet, period, c.now, drift, light.DefaultTrustLevel)
		out = append(out, verifyCase{c.name, encode(a), encode(b), c.now.UnixMilli(), verdict(err)})
	}
	return out
}

// source serves light blocks and remembers which heights it was asked for.
type source struct {
	blocks map[int64]*types.LightBlock
	asked  []int64
}

func (s *source) ChainID() string                                      { return chainID }
func (s *source) ReportEvidence(context.Context, types.Evidence) error { return nil }
func (s *source) LightBlock(_ context.Context, height int64) (*types.LightBlock, error) {
	s.asked = append(s.asked, height)
	block, ok := s.blocks[height]
	if !ok {
		return nil, provider.ErrLightBlockNotFound
	}
	return block, nil
}

type skipCase struct {
	Name    string `json:"name"`
	Chain   int    `json:"chain"`
	Trusted int64  `json:"trusted"`
	Target  int64  `json:"target"`
	NowMs   int64  `json:"nowMs"`
	Verdict string `json:"verdict"`
	// heights that CometBFT's client asked for after the target
	Asked []int64 `json:"asked"`
}

// rotating has `size` validators, of which the oldest leaves and a new one joins after each `every` heights.
func rotating(heights int64, size int, every int64) map[int64]*types.LightBlock {
	at := func(height int64) []member {
		keys := make([]int, size)
		for i := range keys {
			keys[i] = int((height-1)/every) + i
		}
		return equal(keys...)
	}
	blocks := map[int64]*types.LightBlock{}
	for h := int64(1); h <= heights; h++ {
		blocks[h] = recipe{height: h, after: time.Duration(h) * time.Second, vals: at(h), next: at(h + 1)}.make()
	}
	return blocks
}

func skip(name string, chain int, blocks map[int64]*types.LightBlock, trusted, target int64, now time.Time) skipCase {
	primary := &source{blocks: blocks}
	witness := &source{blocks: blocks}
	ctx := context.Background()
	store := db.New(dbm.NewMemDB(), "light")
	options := light.TrustOptions{Period: period, Height: trusted, Hash: blocks[trusted].Hash()}
	client := must(light.NewClient(ctx, chainID, options, primary, []provider.Provider{witness}, store, light.SkippingVerification(light.DefaultTrustLevel)))
	primary.asked = nil
	_, err := client.VerifyLightBlockAtHeight(ctx, target, now)
	asked := primary.asked[1:]
	if asked == nil {
		asked = []int64{}
	}
	return skipCase{name, chain, trusted, target, now.UnixMilli(), verdict(err), asked}
}

// rpc is what CometBFT's RPC answers about a block.
func rpc(block *types.LightBlock) map[string]json.RawMessage {
	vals := block.ValidatorSet.Validators
	return map[string]json.RawMessage{
		"commit":     must(cmtjson.Marshal(coretypes.NewResultCommit(block.Header, block.Commit, true))),
		"validators": must(cmtjson.Marshal(coretypes.ResultValidators{BlockHeight: block.Height, Validators: vals, Count: len(vals), Total: len(vals)})),
	}
}

func main() {
	chains := []map[int64]*types.LightBlock{rotating(24, 4, 1), rotating(24, 4, 40), rotating(24, 3, 3)}
	now := genesis.Add(10 * time.Minute)
	skips := []skipCase{
		skip("a validator changes at each height", 0, chains[0], 1, 24, now),
		skip("the same from the middle", 0, chains[0], 11, 20, now),
		skip("the next height", 0, chains[0], 11, 12, now),
		skip("the validators stay", 1, chains[1], 1, 24, now),
		skip("a validator changes at each third height", 2, chains[2], 2, 23, now),
		skip("expired", 1, chains[1], 1, 24, genesis.Add(2*time.Hour)),
	}
	encoded := make([][][]byte, len(chains))
	for i, blocks := range chains {
		heights := []int64{}
		for h := range blocks {
			heights = append(heights, h)
		}
		sort.Slice(heights, func(a, b int) bool { return heights[a] < heights[b] })
		for _, h := range heights {
			encoded[i] = append(encoded[i], encode(blocks[h]))
		}
	}
	answered := recipe{height: 12, after: 1234 * time.Millisecond, vals: equal(0, 1, 2, 3, 4, 5), absent: []int{2}, nils: []int{4}}.make()
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(map[string]any{
		"chainId": chainID, "trustingPeriodMs": period.Milliseconds(), "maxClockDriftMs": drift.Milliseconds(),
		"verify": verifyCases(), "chains": encoded, "skipping": skips,
		"rpc": rpc(answered), "rpcBlock": encode(answered),
	}); err != nil {
		panic(err)
	}
}
