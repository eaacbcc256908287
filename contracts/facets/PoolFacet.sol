// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IHedge} from "../interfaces/IHedge.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibMoney} from "../libraries/LibMoney.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {Deposit, HedgeEvent, LibStorage} from "../libraries/LibStorage.sol";
import {LibToken} from "../libraries/LibToken.sol";

/// @title Liquidity: deposits, premiums, capital and the creator's earnings.
contract PoolFacet is Guards {
    /// @dev See {IHedge-deposit}.
    function deposit(uint256 _eventId, uint256 _amount)
        external
        virtual
        whenNotPaused
        nonReentrant
        returns (uint256 depositId)
    {
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, "Event settled");
        require(e.poolOpen, "Pool closed");
        require(e.allowExternalLp || msg.sender == e.creator, "External LP not allowed");
        depositId = LibPool.addDeposit(_eventId, msg.sender, _amount);
        emit IHedge.DepositCreated(_eventId, depositId, msg.sender, _amount, _amount);
        LibToken.pull(e.paymentToken, _amount);
    }

    /// @dev See {IHedge-claimPremiums}.
    function claimPremiums(uint256 _depositId) external nonReentrant {
        Deposit storage d = ownDeposit(_depositId);
        HedgeEvent storage e = LibStorage.protocol().events[d.eventId];
        uint256 gross = LibPool.earned(d) - d.premiumsClaimed;
        require(gross > 0, "No premiums");
        uint256 fee = LibMoney.feeDown(gross, e.rates.lpProfit);
        d.premiumsClaimed += gross;
        LibPool.bookFee(e, fee);
        emit IHedge.PremiumsClaimed(_depositId, msg.sender, gross, fee, gross - fee);
        LibToken.push(e.paymentToken, msg.sender, gross - fee);
    }

    /// @dev See {IHedge-withdrawCapital}. What is left after the payouts is shared as it was deposited, so the order of withdrawals
    /// makes no difference.
    function withdrawCapital(uint256 _depositId) external nonReentrant {
        Deposit storage d = ownDeposit(_depositId);
        HedgeEvent storage e = LibStorage.protocol().events[d.eventId];
        require(e.settledAt != 0, "Event not settled");
        require(!d.withdrawn, "Already withdrawn");
        uint256 amount = ((e.totalLiquidity - e.totalMaxPayout) * d.shares) / e.totalShares;
        d.withdrawn = true;
        emit IHedge.CapitalWithdrawn(_depositId, msg.sender, amount);
        LibToken.push(e.paymentToken, msg.sender, amount);
    }

    /// @dev See {IHedge-withdrawCreatorEarnings}.
    function withdrawCreatorEarnings(uint256 _eventId) external nonReentrant {
        HedgeEvent storage e = existing(_eventId);
        require(msg.sender == e.creator, "Not creator");
        uint256 amount = e.creatorEarnings;
        require(amount > 0, "No earnings");
        e.creatorEarnings = 0;
        emit IHedge.CreatorEarningsWithdrawn(_eventId, msg.sender, amount);
        LibToken.push(e.paymentToken, msg.sender, amount);
    }

    function ownDeposit(uint256 depositId) private view returns (Deposit storage d) {
        d = LibStorage.protocol().deposits[depositId];
        require(d.lp != address(0), "Deposit not found");
        require(msg.sender == d.lp, "Not your deposit");
    }
}
