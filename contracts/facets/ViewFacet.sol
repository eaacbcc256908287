// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IHedgeViews} from "../interfaces/IHedgeViews.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibMoney} from "../libraries/LibMoney.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {Deposit, HedgeEvent, LibStorage, Position, Protocol} from "../libraries/LibStorage.sol";

/// @title Reads of events, deposits, positions and fees.
contract ViewFacet is IHedgeViews, Guards {
    uint8 private constant ACTIVE = 0;
    uint8 private constant CLAIMED = 3;
    uint8 private constant CLAIMABLE = 4;
    uint8 private constant EXPIRED = 5;
    uint256 private constant UTILIZATION_ONE = 1e8;

    function getTotalHedgeEvents() external view returns (uint256) {
        return LibStorage.protocol().eventCount;
    }

    function getHedgeEventCore(uint256 _eventId)
        external
        view
        returns (
            uint256 id,
            address creator,
            string memory name,
            string memory underlying,
            uint256 strike,
            uint256 premiumRate,
            uint256 expiryDate,
            uint8 status,
            bool poolOpen,
            bool allowExternalLp,
            uint256 initialRate,
            bool strikeAbove
        )
    {
        HedgeEvent storage e = eventOf(_eventId);
        creator = e.creator;
        id = creator == address(0) ? 0 : _eventId;
        name = e.name;
        underlying = e.underlying;
        strike = e.strike;
        premiumRate = e.premiumRate;
        expiryDate = e.expiryDate;
        status = e.settledAt == 0 ? 0 : 1;
        poolOpen = e.poolOpen;
        allowExternalLp = e.allowExternalLp;
        initialRate = e.initialRate;
        strikeAbove = e.strikeAbove;
    }

    function getHedgeEventRange(uint256 _eventId)
        external
        view
        returns (uint256 strike, uint256 payoutCap, uint256 initialRate, bool strikeAbove)
    {
        HedgeEvent storage e = eventOf(_eventId);
        return (e.strike, e.payoutCap, e.initialRate, e.strikeAbove);
    }

    function getHedgeEventStats(uint256 _eventId)
        external
        view
        returns (
            uint256 settlementPrice,
            bool triggered,
            uint256 settledAt,
            uint256 creatorEarnings,
            uint256 totalLiquidity,
            uint256 totalExposure,
            uint256 totalPremiums,
            uint256 lpCount,
            uint256 hedgerCount,
            uint256 totalMaxPayout
        )
    {
        HedgeEvent storage e = eventOf(_eventId);
        settlementPrice = e.settlementPrice;
        triggered = e.triggered;
        settledAt = e.settledAt;
        creatorEarnings = e.creatorEarnings;
        totalLiquidity = e.totalLiquidity;
        totalExposure = e.totalExposure;
        totalPremiums = e.totalPremiums;
        lpCount = e.depositIds.length;
        hedgerCount = e.positionIds.length;
        totalMaxPayout = e.totalMaxPayout;
    }

    function getPoolUtilization(uint256 _eventId)
        external
        view
        returns (uint256 totalLiquidity, uint256 totalExposure, uint256 availableCapacity, uint256 utilizationPercent)
    {
        HedgeEvent storage e = eventOf(_eventId);
        totalLiquidity = e.totalLiquidity;
        totalExposure = e.totalExposure;
        availableCapacity = capacityOf(e);
        utilizationPercent = totalLiquidity == 0 ? 0 : (e.totalMaxPayout * UTILIZATION_ONE) / totalLiquidity;
    }

    function getEventPositionIds(uint256 _eventId) external view returns (uint256[] memory) {
        return eventOf(_eventId).positionIds;
    }

    function getEventDepositIds(uint256 _eventId) external view returns (uint256[] memory) {
        return eventOf(_eventId).depositIds;
    }

    function getHedgePosition(uint256 _positionId)
        external
        view
        returns (
            uint256 id,
            uint256 eventId,
            address hedger,
            uint256 notional,
            uint256 premiumPaid,
            uint256 platformFeePaid,
            uint256 payoutAmount,
            uint8 status,
            bool claimed
        )
    {
        Position storage p = LibStorage.protocol().positions[_positionId];
        if (p.hedger == address(0)) return (0, 0, address(0), 0, 0, 0, 0, 0, false);
        id = _positionId;
        eventId = p.eventId;
        hedger = p.hedger;
        notional = p.notional;
        premiumPaid = p.premiumPaid;
        platformFeePaid = p.platformFeePaid;
        payoutAmount = payoutOf(p);
        claimed = p.claimed;
        if (claimed) status = CLAIMED;
        else if (eventOf(eventId).settledAt == 0) status = ACTIVE;
        else status = payoutAmount > 0 ? CLAIMABLE : EXPIRED;
    }

    function getHedgerPositionIds(address _hedger) external view returns (uint256[] memory) {
        return LibStorage.protocol().hedgerPositionIds[_hedger];
    }

    function getHedgeLpDeposit(uint256 _depositId)
        external
        view
        returns (
            uint256 id,
            uint256 eventId,
            address lp,
            uint256 amount,
            uint256 shares,
            uint256 premiumsEarned,
            uint256 premiumsClaimed,
            bool withdrawn
        )
    {
        Deposit storage d = LibStorage.protocol().deposits[_depositId];
        if (d.lp == address(0)) return (0, 0, address(0), 0, 0, 0, 0, false);
        return (_depositId, d.eventId, d.lp, d.amount, d.shares, earnedOf(d), d.premiumsClaimed, d.withdrawn);
    }

    function getLpDepositIds(address _lp) external view returns (uint256[] memory) {
        return LibStorage.protocol().lpDepositIds[_lp];
    }

    function pendingPremiums(uint256 _depositId) external view returns (uint256 pending) {
        Deposit storage d = LibStorage.protocol().deposits[_depositId];
        return LibPool.earned(d) - d.premiumsClaimed;
    }

    function getCreatorEventIds(address _creator) external view returns (uint256[] memory) {
        return LibStorage.protocol().creatorEventIds[_creator];
    }

    function quoteRangePayout(uint256 _eventId, uint256 _hypoSettlement, uint256 _notional)
        external
        view
        returns (uint256 payout)
    {
        HedgeEvent storage e = eventOf(_eventId);
        if (e.creator == address(0) || _hypoSettlement == 0) return 0;
        return LibMoney.payoutDown(_notional, LibPool.moved(e, _hypoSettlement), e.initialRate);
    }

    function getHedgeFeeConfig()
        external
        view
        returns (
            uint256 eventCreationFee,
            uint256 hedgerFeeRate,
            uint256 hedgerPayoutFeeRate,
            uint256 lpProfitFeeRate,
            uint256 creatorLoyaltyRate
        )
    {
        Protocol storage s = LibStorage.protocol();
        return (s.creationFee, s.rates.hedger, s.rates.payout, s.rates.lpProfit, s.rates.creatorLoyalty);
    }

    function isPaused() external view returns (bool) {
        return LibStorage.protocol().paused;
    }

    function getPricingEngineSigner() external view returns (address) {
        return LibStorage.protocol().pricingEngineSigner;
    }

    function isFeesInitialized() external view returns (bool) {
        return LibStorage.protocol().feesInitialized;
    }

    function isQuoteNonceUsed(bytes32 _nonce) external view returns (bool) {
        return LibStorage.protocol().nonceUsed[_nonce];
    }

    function getEventQuoteSigner(uint256 _eventId) external view returns (address) {
        return eventOf(_eventId).quoteSigner;
    }

    function getEventPaymentToken(uint256 _eventId) external view returns (address) {
        return existing(_eventId).paymentToken;
    }

    function isAllowedPaymentToken(address _token) external view returns (bool) {
        return LibStorage.protocol().allowedToken[_token];
    }

    function getPlatformFeesByToken(address _token) external view returns (uint256) {
        return LibStorage.protocol().platformFees[_token];
    }

    function getHedgePlatformFees() external view returns (uint256) {
        return LibStorage.protocol().platformFeesTotal;
    }

    function capacityOf(HedgeEvent storage e) internal view virtual returns (uint256) {
        return LibPool.capacity(e);
    }

    function payoutOf(Position storage p) internal view virtual returns (uint256) {
        return LibPool.payout(p);
    }

    function earnedOf(Deposit storage d) internal view virtual returns (uint256) {
        return LibPool.earned(d);
    }

    function eventOf(uint256 eventId) private view returns (HedgeEvent storage) {
        return LibStorage.protocol().events[eventId];
    }
}
