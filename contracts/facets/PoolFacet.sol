// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IHedgePools} from "../interfaces/IHedgePools.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibMoney} from "../libraries/LibMoney.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {Deposit, HedgeEvent, LibStorage} from "../libraries/LibStorage.sol";
import {LibToken} from "../libraries/LibToken.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title Liquidity: deposits, premiums, capital and the creator's earnings.
contract PoolFacet is IHedgePools, Guards {
    /// @dev See {IHedgePools-deposit}.
    function deposit(uint256 _eventId, uint256 _amount)
        external
        virtual
        whenNotPaused
        nonReentrant
        returns (uint256 depositId)
    {
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, Reasons.EVENT_SETTLED);
        require(e.poolOpen, Reasons.POOL_CLOSED);
        require(e.allowExternalLp || msg.sender == e.creator, Reasons.EXTERNAL_LP_NOT_ALLOWED);
        LibPool.requireRoom(e.totalLiquidity, _amount);
        depositId = LibPool.addDeposit(_eventId, msg.sender, _amount, _amount);
        emit DepositCreated(_eventId, depositId, msg.sender, _amount, _amount);
        LibToken.pull(e.paymentToken, _amount);
    }

    /// @dev See {IHedgePools-claimPremiums}.
    function claimPremiums(uint256 _depositId) external nonReentrant {
        Deposit storage d = ownDeposit(_depositId);
        HedgeEvent storage e = LibStorage.protocol().events[d.eventId];
        uint256 gross = LibPool.earned(d) - d.premiumsClaimed;
        require(gross > 0, Reasons.NO_PREMIUMS);
        uint256 fee = LibMoney.feeDown(gross, e.rates.lpProfit);
        d.premiumsClaimed += gross;
        LibPool.bookFee(e, fee);
        emit PremiumsClaimed(_depositId, msg.sender, gross, fee, gross - fee);
        LibToken.push(e.paymentToken, msg.sender, gross - fee);
    }

    /// @dev See {IHedgePools-withdrawCapital}. The capital that remains after payouts is shared in proportion to the
    /// deposits, so the order of withdrawals does not matter.
    function withdrawCapital(uint256 _depositId) external nonReentrant {
        Deposit storage d = ownDeposit(_depositId);
        HedgeEvent storage e = LibStorage.protocol().events[d.eventId];
        require(e.settledAt != 0, Reasons.EVENT_NOT_SETTLED);
        require(!d.withdrawn, Reasons.ALREADY_WITHDRAWN);
        uint256 amount = capitalOf(e, d);
        d.withdrawn = true;
        emit CapitalWithdrawn(_depositId, msg.sender, amount);
        LibToken.push(e.paymentToken, msg.sender, amount);
    }

    /// @dev See {IHedgePools-withdrawCreatorEarnings}.
    function withdrawCreatorEarnings(uint256 _eventId) external nonReentrant {
        HedgeEvent storage e = existing(_eventId);
        require(msg.sender == e.creator, Reasons.NOT_CREATOR);
        uint256 amount = e.creatorEarnings;
        require(amount > 0, Reasons.NO_EARNINGS);
        e.creatorEarnings = 0;
        emit CreatorEarningsWithdrawn(_eventId, msg.sender, amount);
        LibToken.push(e.paymentToken, msg.sender, amount);
    }

    /// @return A deposit's share of the capital that remains after a settled event's payouts, in token units.
    function capitalOf(HedgeEvent storage e, Deposit storage d) internal view virtual returns (uint256) {
        return ((e.totalLiquidity - e.totalMaxPayout) * d.shares) / e.totalShares;
    }

    function ownDeposit(uint256 depositId) private view returns (Deposit storage d) {
        d = LibStorage.protocol().deposits[depositId];
        require(d.lp != address(0), Reasons.DEPOSIT_NOT_FOUND);
        require(msg.sender == d.lp, Reasons.NOT_YOUR_DEPOSIT);
    }
}
