// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDiamondCut} from "./interfaces/IDiamondCut.sol";
import {IHedgeAdmin} from "./interfaces/IHedgeAdmin.sol";
import {LibDiamond} from "./libraries/LibDiamond.sol";
import {LibStorage, Protocol} from "./libraries/LibStorage.sol";
import {LibToken} from "./libraries/LibToken.sol";
import {Reasons} from "./libraries/Reasons.sol";

/// @title The protocol's proxy (EIP-2535): finds the facet of a function and runs it on this contract's storage.
contract Diamond {
    /// @param owner The first owner, who is also the first oracle admin.
    /// @param cuts The initial facets; later cuts wait for the timelock.
    /// @param paymentTokens Allowed from the start; the first is the default one.
    constructor(address owner, IDiamondCut.FacetCut[] memory cuts, address[] memory paymentTokens) {
        require(owner != address(0) && paymentTokens.length > 0, Reasons.ZERO_ADDRESS);
        LibDiamond.setOwner(owner);
        LibDiamond.cut(cuts, address(0), "");
        Protocol storage s = LibStorage.protocol();
        s.oracleAdmin = owner;
        emit IHedgeAdmin.OracleAdminSet(owner);
        s.defaultToken = paymentTokens[0];
        s.requiredSigners = 2;
        s.toleranceBps = 100;
        for (uint256 i; i < paymentTokens.length; i++) {
            LibToken.unit(paymentTokens[i]); // Reverts for an address that is not a token.
            s.allowedToken[paymentTokens[i]] = true;
            s.everAllowed[paymentTokens[i]] = true;
            emit IHedgeAdmin.PaymentTokenSet(paymentTokens[i], true);
        }
    }

    /// @dev No receive function: coins sent here by mistake are rejected.
    fallback() external {
        address facet = LibDiamond.store().places[msg.sig].facet;
        if (facet == address(0)) revert(missing());
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), facet, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch ok
            case 0 { revert(0, returndatasize()) }
            default { return(0, returndatasize()) }
        }
    }

    /// @return The revert reason of a call whose function no facet has.
    function missing() internal pure virtual returns (string memory) {
        return Reasons.FUNCTION_NOT_FOUND;
    }
}
